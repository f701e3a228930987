/**
 * The traffic of a working day. It begins at 18:00, so that the last part of a run, in which memory is measured, is the
 * busy afternoon.
 */

export const DAY_BEGINS_H = 18

/** Traffic by hour of the day. */
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

/** Returns the hour of the day, 0 up to 24, at this share of the run. */
export function hourAt(share: number): number {
  return (DAY_BEGINS_H + share * 24) % 24
}

/** Returns the traffic at that time, as a multiple of the daily mean. */
export function busyAt(share: number): number {
  const hour = hourAt(share)
  return (HOURS.findLast(({ from_h }) => from_h <= hour)?.busy ?? 0) / MEAN
}

/** Formats the time of day, such as `13:05`. */
export function clockAt(share: number): string {
  const minutes = Math.floor(hourAt(share) * 60)
  return `${String(Math.floor(minutes / 60)).padStart(2, '0')}:${String(minutes % 60).padStart(2, '0')}`
}
