/** Opens hubs with the product's own stores on the real file system, with smaller sizes. */
import path from 'node:path'
import { systemDisk, type Disk } from '../../src/storage/file/journal/disk.ts'
import type { StoreOptions } from '../../src/storage/open.ts'
import { resolveHome, type Home } from '../../src/system/config/home.ts'

/** Small sizes, so that a few signals fill a segment and a few calls fill an event log. */
export const SIZES: NonNullable<StoreOptions['sizes']> = { segment_bytes_max: 3_000, events_max: 20 }

/** File times can be restored only with millisecond precision. */
export const DISK: Disk = { ...systemDisk, changedAt: (fd) => Math.floor(systemDisk.changedAt(fd)) }

export interface Places {
  /** Directory of all recorded files. */
  root: string
  home: Home
  project: string
}

export function placesIn(root: string): Places {
  return { root, home: resolveHome({}, path.join(root, 'home')), project: path.join(root, 'project') }
}
