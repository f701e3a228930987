/** The clock on the wall, by which every process of the machine tells the time. Somebody sets it: hours ahead, hours back. */
export class Wall {
  /** How often a clock was set: this one, or that of a single process. */
  sets = 0
  private readonly timeline: { now: number }
  /** How far ahead of simulated time it has been, from when on. */
  private readonly settings = [{ at: -Infinity, ahead_ms: 0 }]
  /** When the machine slept, in order and apart. */
  private sleeps: { from: number; until: number }[] = []

  constructor(timeline: { now: number }) {
    this.timeline = timeline
  }

  get now(): number {
    return this.timeline.now + this.ahead()
  }

  set(by_ms: number): void {
    this.sets += 1
    this.settings.push({ at: this.timeline.now, ahead_ms: this.ahead() + by_ms })
  }

  /** By how much at most it may have measured too long, or too short, a time that began at or after that moment. */
  errorSince(at: number): number {
    const { settings } = this
    if (settings.length === 1) return 0
    const since = settings.filter((_, nth) => (settings[nth + 1]?.at ?? Infinity) >= at)
    const ahead = since.map(({ ahead_ms }) => ahead_ms)
    return Math.max(...ahead) - Math.min(...ahead)
  }

  /** The machine has slept from then until now, or a part of it has. */
  slept(from: number): void {
    const apart = this.sleeps.filter(({ until }) => until < from)
    const since = this.sleeps[apart.length]?.from ?? from
    this.sleeps = [...apart, { from: Math.min(since, from), until: this.timeline.now }]
  }

  /** How much at most of the time between the two moments. */
  sleptBetween(from: number, until: number): number {
    return this.sleeps.reduce(
      (sum, sleep) => sum + Math.max(0, Math.min(sleep.until, until) - Math.max(sleep.from, from)),
      0,
    )
  }

  private ahead(): number {
    return this.settings.at(-1)?.ahead_ms ?? 0
  }
}
