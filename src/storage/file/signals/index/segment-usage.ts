/** Bytes of each segment that belong to live and to forgotten signals. */
export interface Usage {
  /** Bytes of the signals' own lines. Lines of later changes are not counted; they grow in proportion. */
  signals: number
  /** Part of `signals` that belongs to forgotten signals. */
  wasted: number
}

export class SegmentUsage {
  readonly by_segment = new Map<number, Usage>()

  addStored(segment: number, bytes: number): void {
    this.of(segment).signals += bytes
  }

  addWasted(segment: number, bytes: number): void {
    this.of(segment).wasted += bytes
  }

  of(segment: number): Usage {
    let usage = this.by_segment.get(segment)
    if (usage === undefined) this.by_segment.set(segment, (usage = { signals: 0, wasted: 0 }))
    return usage
  }
}
