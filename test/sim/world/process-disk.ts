/**
 * The disk as one simulated process sees it: slow, full or failing at the world's request, and unavailable once the
 * process is killed.
 */
import type { Disk } from '../../../src/storage/file/journal/disk.ts'
import { systemError, type MemoryDisk } from '../../support/disk/memory-disk.ts'
import { Killed, type Host, type HostWorld } from './host.ts'

export interface DiskFaults {
  /** Maximum duration of a sync, in milliseconds. */
  sync_ms_max: number
  /** Probabilities for each operation: that a sync, rename or truncate fails, and that space runs out. */
  sync_fails: number
  full: number
  short_write: number
}

export const CALM_DISK: DiskFaults = { sync_ms_max: 2, sync_fails: 0, full: 0, short_write: 0 }

export interface DiskWorld extends HostWorld {
  disk_faults: DiskFaults
  /** Null if no kill is scheduled. */
  disk_fuse: DiskFuse | null
  cutPower(): void
}

/** Counts the operations of the writer down to zero, then kills the process in the middle of one, or cuts the power. */
export interface DiskFuse {
  left: number
  power: boolean
}

/** Returns the view of this process; the platters are shared with its successors. */
export function processDisk(host: Host, platters: MemoryDisk, world: DiskWorld): Disk {
  const { timeline } = world
  const change = <T>(what: () => T): T => {
    if (!host.alive) throw new Killed('this process is gone')
    const { disk_fuse: fuse } = world
    if (fuse !== null && --fuse.left <= 0) {
      world.disk_fuse = null
      if (fuse.power) world.cutPower()
      host.kill()
      throw new Killed('killed at the disk')
    }
    return what()
  }
  const read = <T>(what: () => T): T => {
    if (!host.alive) throw new Killed('this process is gone')
    return what()
  }
  const mayBeFull = (file: string) => {
    if (world.dice.chance(world.disk_faults.full)) throw systemError('ENOSPC', file)
  }
  const mayFail = (file: string) => {
    if (world.dice.chance(world.disk_faults.sync_fails)) throw systemError('EIO', file)
  }
  return {
    open: (file, how) =>
      change(() => {
        if (how !== 'read') mayBeFull(file)
        return platters.open(file, how)
      }),
    // A killed process cannot report an error on close.
    close: (fd) => (host.alive ? platters.close(fd) : undefined),
    read: (fd, target, position) => read(() => platters.read(fd, target, position)),
    write: (fd, source, position) =>
      change(() => {
        mayBeFull('what is written')
        const short = source.length > 1 && world.dice.chance(world.disk_faults.short_write)
        const part = short ? source.subarray(0, world.dice.between(1, source.length - 1)) : source
        return platters.write(fd, part, position)
      }),
    sync: (fd, done) =>
      change(() => {
        const { sync_ms_max, sync_fails } = world.disk_faults
        const fails = world.dice.chance(sync_fails)
        platters.later = (finish) =>
          void timeline.at(world.dice.between(0, sync_ms_max), () => {
            // The disk completes operations that it has received, and they may fail after their process ended.
            platters.fault = (operation) =>
              fails && operation === 'sync' ? systemError('EIO', 'fdatasync') : null
            finish()
            platters.fault = () => null
          })
        platters.sync(fd, (error) => host.act(() => done(error)))
      }),
    syncNow: (fd) =>
      change(() => {
        const fails = world.dice.chance(world.disk_faults.sync_fails)
        platters.fault = () => (fails ? systemError('EIO', 'fdatasync') : null)
        try {
          platters.syncNow(fd)
        } finally {
          platters.fault = () => null
        }
      }),
    size: (fd) => read(() => platters.size(fd)),
    leadsTo: (file, fd) => read(() => platters.leadsTo(file, fd)),
    changedAt: (fd) => read(() => platters.changedAt(fd)),
    truncate: (fd, bytes) =>
      change(() => {
        mayFail('what is cut off')
        platters.truncate(fd, bytes)
      }),
    readFile: (file) => read(() => platters.readFile(file)),
    isPlain: () => true,
    list: (directory) => read(() => platters.list(directory)),
    makeDirectory: (directory) =>
      change(() => {
        mayBeFull(directory)
        platters.makeDirectory(directory)
      }),
    rename: (from, to) =>
      change(() => {
        mayBeFull(to)
        mayFail(to)
        platters.rename(from, to)
      }),
    remove: (file) =>
      change(() => {
        mayFail(file)
        platters.remove(file)
      }),
    syncDirectory: (directory) =>
      change(() => {
        mayFail(directory)
        platters.syncDirectory(directory)
      }),
  }
}
