/**
 * The traffic of a working day. It begins at six in the evening, so that the end of a run, in which memory is watched, is
 * the busy afternoon.
 */

export const DAY_BEGINS_H = 18

/** How busy an hour is, by the clock on the wall. */
const HOURS: readonly { from_h: number; busy: number }[] = [
  { from_h: 0, busy: 0.05 },
  { from_h: 7, busy: 0.5 },
  { from_h: 9, busy: 2.2 },
  { from_h: 12, busy: 0.9 },
  { from_h: 13, busy: 2.2 },
  { from_h: 18, busy: 0.5 },
  { from_h: 22, busy: 0.05 },
]

const MEAN =
  HOURS.reduce((sum, { from_h, busy }, index) => {
    return sum + busy * ((HOURS[index + 1]?.from_h ?? 24) - from_h)
  }, 0) / 24

/** The hour on the wall, 0 up to 24, when this share of the day is over. */
export function hourAt(share: number): number {
  return (DAY_BEGINS_H + share * 24) % 24
}

/** How busy it is then, as a multiple of the day's mean. */
export function busyAt(share: number): number {
  const hour = hourAt(share)
  return (HOURS.findLast(({ from_h }) => from_h <= hour)?.busy ?? 0) / MEAN
}

/** As people say it: `13:05`. */
export function clockAt(share: number): string {
  const minutes = Math.floor(hourAt(share) * 60)
  return `${String(Math.floor(minutes / 60)).padStart(2, '0')}:${String(minutes % 60).padStart(2, '0')}`
}
