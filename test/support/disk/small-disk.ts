/** A file system that can be filled to the last byte and the last inode. */
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'

export interface SmallDisk {
  /** Uses up the remaining space, or all but `left` inodes. */
  fill(left?: { files: number }): void
  /** Frees the space. */
  empty(): void
  unmount(): void
}

export interface SmallDiskOptions {
  mebibytes: number
  /** Number of files and directories that fit. */
  files: number
}

/** Returns null and prints a warning if mounting is not permitted. */
export function mountSmallDisk(directory: string, { mebibytes, files }: SmallDiskOptions): SmallDisk | null {
  // The root directory uses one inode.
  const options = `size=${mebibytes}m,nr_inodes=${files + 1},mode=0700`
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', directory]).status !== 0) {
    console.warn('LEFT OUT: a full disk, which takes the right to mount one')
    return null
  }
  const fillers: string[] = []
  const make = () => {
    const file = path.join(directory, `filler-${fillers.length}`)
    fs.closeSync(fs.openSync(file, 'wx'))
    fillers.push(file)
    return file
  }
  return {
    fill(left) {
      if (left === undefined) untilFull(() => fillWithBytes(make()))
      untilFull(() => {
        for (;;) make()
      })
      for (const file of fillers.splice(-(left?.files ?? 0), left?.files ?? 0)) fs.rmSync(file)
    },
    empty() {
      for (const file of fillers.splice(0)) fs.rmSync(file)
    },
    unmount() {
      const { status, stderr } = spawnSync('umount', [directory], { encoding: 'utf8' })
      if (status === 0) return
      spawnSync('umount', ['--lazy', directory])
      throw new Error(`somebody still uses what is in ${directory}: ${stderr}`)
    },
  }
}

function fillWithBytes(file: string): void {
  const fd = fs.openSync(file, 'a')
  const bytes = Buffer.alloc(4096)
  try {
    for (;;) fs.writeSync(fd, bytes)
  } finally {
    fs.closeSync(fd)
  }
}

function untilFull(take: () => void): void {
  try {
    take()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
  }
}
