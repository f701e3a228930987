/** The disk as one simulated process has it: slow, full or failing when the world says so, and no longer there once it is killed. */
import type { Disk } from '../../src/storage/file/disk.ts'
import { systemError, type MemoryDisk } from '../support/memory-disk.ts'
import { Killed, type Host, type HostWorld } from './host.ts'

export interface DiskFaults {
  /** The longest that a sync takes. */
  sync_ms_max: number
  /** Probabilities of each operation: of a sync or a change of names and lengths, and of what needs room. */
  sync_fails: number
  full: number
  short_write: number
}

export const CALM_DISK: DiskFaults = { sync_ms_max: 2, sync_fails: 0, full: 0, short_write: 0 }

export interface DiskWorld extends HostWorld {
  disk_faults: DiskFaults
  /** Null where nothing waits for it to burn down. */
  disk_fuse: DiskFuse | null
  cutPower(): void
}

/** So many operations of whoever writes, and then it is killed in the middle, or the power is cut. */
export interface DiskFuse {
  left: number
  power: boolean
}

/** Of this process; the platters are shared by all that come after it. */
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
    // Whoever is killed closes without a word.
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
            // The disk goes on with what it was told, and may fail at it, also where nobody is left to hear of it.
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
    changedAt: (fd) => read(() => platters.changedAt(fd)),
    truncate: (fd, bytes) =>
      change(() => {
        mayFail('what is cut off')
        platters.truncate(fd, bytes)
      }),
    readFile: (file) => read(() => platters.readFile(file)),
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
