/** The stages of a signal in the order in which they happen. */
export const STAGE_ORDER = [
  'pushed_at',
  'rung_at',
  'seen_at',
  'drained_at',
  'confirmed_at',
  'completed_at',
] as const
export type ObservedStage = (typeof STAGE_ORDER)[number]

/**
 * Returns the time to store for a stage, in milliseconds: not before an earlier stage or the creation, not after a later
 * stage. Stages may be reported late, and clocks may be changed.
 */
export function timeInOrder(
  stage: ObservedStage,
  at: number,
  created_at: number,
  timeOf: (stage: ObservedStage) => number | null,
): number {
  const place = STAGE_ORDER.indexOf(stage)
  let time = Math.max(at, created_at)
  for (const [other_place, other] of STAGE_ORDER.entries()) {
    const other_time = other_place === place ? null : timeOf(other)
    if (other_time === null) continue
    time = other_place < place ? Math.max(time, other_time) : Math.min(time, other_time)
  }
  return time
}
