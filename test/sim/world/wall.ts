/** The wall clock of the machine, which all its processes read. It can be set hours ahead or back. */
export class Wall {
  /** How often a clock was set: this one, or that of a single process. */
  sets = 0
  private readonly timeline: { now: number }
  /** Offsets from simulated time, each with its start. */
  private readonly settings = [{ at: -Infinity, ahead_ms: 0 }]
  /** Periods in which the machine was suspended, in order and disjoint. */
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

  /** Returns the maximum error, in milliseconds, of measuring a duration that began at or after `at`. */
  errorSince(at: number): number {
    const { settings } = this
    if (settings.length === 1) return 0
    const since = settings.filter((_, nth) => (settings[nth + 1]?.at ?? Infinity) >= at)
    const ahead = since.map(({ ahead_ms }) => ahead_ms)
    return Math.max(...ahead) - Math.min(...ahead)
  }

  /** Records that the machine was suspended from `from` until now. */
  slept(from: number): void {
    const apart = this.sleeps.filter(({ until }) => until < from)
    const since = this.sleeps[apart.length]?.from ?? from
    this.sleeps = [...apart, { from: Math.min(since, from), until: this.timeline.now }]
  }

  /** Returns the maximum time that the machine was suspended between the two moments. */
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
