/** How much of each segment belongs to signals that are still wanted. */
export interface Use {
  /** Bytes of the signals' own lines. What happened to them is not counted; it follows in proportion. */
  signals: number
  /** Of those, bytes of forgotten ones. */
  wasted: number
}

export class SegmentUse {
  readonly by_segment = new Map<number, Use>()

  use(segment: number, bytes: number): void {
    this.of(segment).signals += bytes
  }

  waste(segment: number, bytes: number): void {
    this.of(segment).wasted += bytes
  }

  of(segment: number): Use {
    let use = this.by_segment.get(segment)
    if (use === undefined) this.by_segment.set(segment, (use = { signals: 0, wasted: 0 }))
    return use
  }
}
