/** The wall clock of the processes under test, which can be set. The driver's own clock is unaffected. */
import fs from 'node:fs'
import path from 'node:path'

const VARIABLE = 'SOAK_CLOCK_FILE'

/**
 * Preloaded into the product and its child processes. Replaces only `Date`, because timers and `performance` are
 * monotonic on a real machine, too.
 */
const PRELOAD = `'use strict'
const fs = require('node:fs')
const Real = globalThis.Date
const LOOK_MS = 20
let [offset, looked] = [0, -Infinity]
function now() {
  const at = performance.now()
  if (at - looked > LOOK_MS) {
    looked = at
    try {
      const text = fs.readFileSync(process.env.${VARIABLE}, 'utf8')
      if (text !== '') offset = Number(text)
    } catch {
      // It stays as it was last read.
    }
  }
  return Real.now() + offset
}
globalThis.Date = new Proxy(Real, {
  construct: (target, args, called) =>
    Reflect.construct(target, args.length === 0 ? [now()] : args, called === globalThis.Date ? target : called),
  apply: () => new Real(now()).toString(),
  get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
})
`

export class ShiftedClock {
  readonly env: Record<string, string>
  private readonly file: string
  private offset_ms = 0
  private furthest_ms = 0

  /** Creates its two files in `directory`. */
  constructor(directory: string) {
    this.file = path.join(directory, 'clock-offset')
    const preload = path.join(directory, 'shifted-clock.cjs')
    fs.writeFileSync(preload, PRELOAD)
    fs.writeFileSync(this.file, '0')
    this.env = { NODE_OPTIONS: `--require ${preload}`, [VARIABLE]: this.file }
  }

  /** Returns the latest time that a process under test may have read. */
  furthest(): number {
    this.furthest_ms = Math.max(this.furthest_ms, Date.now() + this.offset_ms)
    return this.furthest_ms
  }

  shift(offset_ms: number): void {
    this.furthest()
    this.offset_ms = offset_ms
    fs.writeFileSync(this.file, String(offset_ms))
  }
}
