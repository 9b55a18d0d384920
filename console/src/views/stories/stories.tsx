// The five services of Sortkey, each with the question that it answers.
import type { ComponentChildren } from "preact";
import { Boosts } from "./Boosts.tsx";
import { Favourites } from "./Favourites.tsx";
import { Goals } from "./Goals.tsx";
import { Pricing } from "./Pricing.tsx";
import { Social } from "./Social.tsx";

interface Story {
  key: string;
  title: string;
  view: () => ComponentChildren;
}

export const STORIES: Story[] = [
  { key: "boosts", title: "Boosts", view: () => <Boosts /> },
  { key: "social", title: "Social", view: () => <Social /> },
  { key: "favourites", title: "Favourites", view: () => <Favourites /> },
  { key: "goals", title: "Goals", view: () => <Goals /> },
  { key: "pricing", title: "Pricing", view: () => <Pricing /> },
];
