/** How hubs are opened here: the product's own stores on the system's own files, only smaller. */
import path from 'node:path'
import { systemDisk, type Disk } from '../../src/storage/file/disk.ts'
import type { StoreOptions } from '../../src/storage/open.ts'
import { resolveHome, type Home } from '../../src/system/home.ts'

/** Some signals fill a segment, some calls an event log. */
export const SIZES: NonNullable<StoreOptions['sizes']> = { segment_bytes_max: 3_000, events_max: 20 }

/** A tree can be given the times of its files back only to the millisecond. */
export const DISK: Disk = { ...systemDisk, changedAt: (fd) => Math.floor(systemDisk.changedAt(fd)) }

export interface Places {
  /** All that is recorded lies below it. */
  root: string
  home: Home
  project: string
}

export function placesIn(root: string): Places {
  return { root, home: resolveHome({}, path.join(root, 'home')), project: path.join(root, 'project') }
}
