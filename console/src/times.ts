// Durations and instants as people read them.
import { count, ratio } from "./numbers.ts";

export function seconds(value: number): string {
  if (value === 0) return "0 s";
  if (value < 0.001) return `${count(value * 1e6)} µs`;
  if (value < 1) return `${ratio(value * 1000)} ms`;
  if (value < 120) return `${ratio(value)} s`;
  if (value < 7200) return `${count(value / 60)} min`;
  if (value < 172800) return `${ratio(value / 3600)} h`;
  return `${ratio(value / 86400)} d`;
}

/** The time of day, with the day if it is another one. */
export function clock(instant: Date, now = new Date()): string {
  const time = `${two(instant.getHours())}:${two(instant.getMinutes())}:${two(instant.getSeconds())}`;
  return instant.toDateString() === now.toDateString() ? time : `${day(instant)} ${time}`;
}

export function day(instant: Date): string {
  return `${instant.getFullYear()}-${two(instant.getMonth() + 1)}-${two(instant.getDate())}`;
}

/** How far away: "in 12 s", "3 min ago". */
export function away(instant: Date, now = new Date()): string {
  const difference = (instant.getTime() - now.getTime()) / 1000;
  if (Math.abs(difference) < 1) return "now";
  const whole = (value: number) => (value < 120 ? `${Math.round(value)} s` : seconds(value));
  return difference > 0 ? `in ${whole(difference)}` : `${whole(-difference)} ago`;
}

function two(value: number): string {
  return String(value).padStart(2, "0");
}
