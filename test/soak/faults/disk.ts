/**
 * The disk of a home that can become full or read-only: a tmpfs that is mounted twice. Processes use the home; the driver
 * uses the second mount, which stays writable. Mounting requires root on Linux.
 */
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'

/** Far more than a run needs; memory is used only when it is written. */
const SIZE_BYTES = 4 * 2 ** 30
const FILES_MAX = 1_000_000
/** The disk may grow by a page between the measurement and the remount. */
const TRIES_MAX = 20

/** The resource that runs out. */
export type Shortage = 'bytes' | 'names'

export class FaultyDisk {
  private readonly home: string
  private readonly backstage: string
  private readonly staging: string
  private readonly read_only = new Set<string>()

  /**
   * Returns null if mounting is not permitted. All arguments are empty directories; the last two are used only by this
   * disk.
   */
  static mount(home: string, backstage: string, staging: string): FaultyDisk | null {
    const limits = `size=${SIZE_BYTES},nr_inodes=${FILES_MAX},mode=0700`
    if (!mounted(['-t', 'tmpfs', '-o', limits, 'tmpfs', backstage])) return null
    if (mounted(['--bind', backstage, home])) return new FaultyDisk(home, backstage, staging)
    unmount(backstage)
    return null
  }

  private constructor(home: string, backstage: string, staging: string) {
    this.home = home
    this.backstage = backstage
    this.staging = staging
  }

  /** Leaves only `spare` free pages or inodes. Space freed during the fault can be used again. */
  fill(shortage: Shortage, spare: number): void {
    for (let tries = 1; ; tries += 1) {
      const { bsize, blocks, bfree, files, ffree } = fs.statfsSync(this.backstage)
      const limit =
        shortage === 'bytes'
          ? `size=${(blocks - bfree + spare) * bsize}`
          : `nr_inodes=${files - ffree + spare}`
      if (mounted(['-o', `remount,${limit}`, this.backstage])) return
      if (tries === TRIES_MAX) throw new Error(`the disk cannot be limited to ${limit}`)
    }
  }

  makeRoom(): void {
    const limits = `size=${SIZE_BYTES},nr_inodes=${FILES_MAX}`
    if (!mounted(['-o', `remount,${limits}`, this.backstage])) throw new Error('the disk stays full')
  }

  /**
   * Mounts a directory of the home over itself, read-only. Open descriptors stay writable; opening, renaming, creating
   * or removing a path fails with EROFS.
   */
  setReadOnly(directory: string): void {
    // First made read-only at another path: at this one a process might open a file for writing in between.
    const { staging } = this
    const steps = [
      ['--bind', directory, staging],
      ['-o', 'remount,bind,ro', staging],
      ['--bind', staging, directory],
    ]
    const failed = steps.find((args) => !mounted(args))
    unmount(staging)
    if (failed !== undefined) throw new Error(`mount ${failed.join(' ')} failed`)
    this.read_only.add(directory)
  }

  setWritable(directory: string): void {
    if (this.read_only.delete(directory)) unmount(directory)
  }

  /** Unmounts everything. With `keep` the files are copied to the plain directory of the home. */
  release(keep: boolean): void {
    for (const directory of [...this.read_only]) this.setWritable(directory)
    unmount(this.home)
    if (keep) fs.cpSync(this.backstage, this.home, { recursive: true, filter: isPlain })
    unmount(this.backstage)
  }
}

function isPlain(file: string): boolean {
  const stat = fs.lstatSync(file, { throwIfNoEntry: false })
  return stat !== undefined && (stat.isFile() || stat.isDirectory())
}

function mounted(args: readonly string[]): boolean {
  return spawnSync('mount', args, { stdio: 'ignore' }).status === 0
}

/** Lazy, because a process may still have an open file below it. */
function unmount(directory: string): void {
  spawnSync('umount', ['--lazy', directory], { stdio: 'ignore' })
}
