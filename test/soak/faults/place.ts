/** The directories of a soak run: its home and, with faults, the disk below it, the runtime directory and the clock. */
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { resolveHome, type Home } from '../../../src/system/config/home.ts'
import { FaultyDisk } from './disk.ts'
import { ShiftedClock } from './shifted-clock.ts'

/** Longer than a socket path may be, so both sockets of each daemon move to the runtime directory. */
const LONG_NAME = 'a-home-whose-name-is-longer-than-a-socket-may-be-named-'.repeat(2)

export class Place {
  readonly home: Home
  /** Environment of every process of the product. */
  readonly env: Record<string, string>
  readonly faulty: Faulty | null

  constructor(parent: string = os.tmpdir(), faulty: { long_name: boolean } | null = null) {
    const name = faulty?.long_name === true ? LONG_NAME : ''
    const root = fs.mkdtempSync(path.join(parent, `tb-soak-${name}`))
    this.home = resolveHome({}, root)
    this.faulty = faulty === null ? null : new Faulty(root, faulty.long_name)
    this.env = this.faulty?.env ?? {}
  }

  /** With `keep` the files of the home remain; otherwise the caller removes them. */
  close(keep: boolean): void {
    this.faulty?.close(keep)
  }
}

/** The directories next to the home. */
class Faulty {
  readonly clock: ShiftedClock
  /** Null where mounting is not permitted. */
  readonly disk: FaultyDisk | null
  /** Contains the sockets if the home's path is too long. */
  readonly runtime: string
  readonly env: Record<string, string>
  readonly long_name: boolean
  private readonly aside: string
  private open = true

  constructor(root: string, long_name: boolean) {
    this.long_name = long_name
    this.aside = fs.mkdtempSync(path.join(os.tmpdir(), 'tb-aside-'))
    const directory = (name: string) => {
      fs.mkdirSync(path.join(this.aside, name), { mode: 0o700 })
      return path.join(this.aside, name)
    }
    const runtime = directory('runtime')
    this.runtime = path.join(runtime, 'turnbell')
    this.clock = new ShiftedClock(directory('clock'))
    this.disk = FaultyDisk.mount(root, directory('disk'), directory('staging'))
    this.env = { XDG_RUNTIME_DIR: runtime, ...this.clock.env }
  }

  close(keep: boolean): void {
    if (!this.open) return
    this.open = false
    this.disk?.release(keep)
    fs.rmSync(this.aside, { recursive: true, force: true })
  }
}
