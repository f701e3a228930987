import type { Figure, Pair } from './figures.ts'

export interface Bound {
  comparison: '<=' | '>='
  bound: number
}

export function boundOf(figure: Pick<Figure, 'goal'>): Bound | null
export function met(figure: Pick<Figure, 'value' | 'limit' | 'goal'>): boolean
export function shareOf(figure: Pair, bound: Bound): number
export function shownRatio(figure: Pick<Figure, 'value' | 'limit' | 'goal'>): string
