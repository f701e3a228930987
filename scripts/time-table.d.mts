export interface Row {
  name: string
  seconds: number
  failed?: boolean
  note?: string
}
export function timeTable(rows: readonly Row[]): string
export function clock(seconds: number): string
