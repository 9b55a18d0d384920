// Numbers as people read them, in the same form whatever the browser's language is.

const GROUPED = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

export function count(value: number): string {
  return GROUPED.format(value);
}

/** A rate or a ratio: three digits that matter, or whole numbers. */
export function ratio(value: number): string {
  if (value === 0) return "0";
  if (Math.abs(value) >= 100) return count(value);
  if (Math.abs(value) >= 10) return value.toFixed(1);
  if (Math.abs(value) >= 0.01) return value.toFixed(2);
  return value.toPrecision(1);
}

const BYTE_UNITS = ["B", "kB", "MB", "GB", "TB"];

export function bytes(value: number): string {
  let unit = 0;
  let rest = value;
  while (rest >= 1000 && unit < BYTE_UNITS.length - 1) {
    rest /= 1000;
    unit += 1;
  }
  return `${unit === 0 ? count(rest) : ratio(rest)} ${BYTE_UNITS[unit]}`;
}

export function dollars(value: number): string {
  if (value === 0) return "$0";
  if (value >= 100) return `$${count(value)}`;
  if (value >= 0.01) return `$${value.toFixed(2)}`;
  if (value < 0.000001) return "< $0.000001";
  return `$${value.toFixed(Math.min(7, 1 - Math.floor(Math.log10(value))))}`;
}

export function percent(value: number): string {
  return value > 0 && value < 0.0001 ? "< 0.01 %" : `${ratio(value * 100)} %`;
}

const AMOUNT = new Intl.NumberFormat("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 });

/** An amount of some currency. */
export function money(value: number): string {
  return AMOUNT.format(value);
}

export function plural(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}
