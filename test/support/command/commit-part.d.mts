export interface Part {
  number: number
  of: number
}
export function partOfCommit(parts: number): number
export function partIn(text: string): Part
export function itemsOf<Item>(items: readonly Item[], part: Part): Item[]
