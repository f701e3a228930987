/** A file system that turns read-only, as the kernel does after it has found an error. */
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'

export interface FailingDisk {
  /** From this call on every write fails with EROFS, also to open files. */
  turnReadOnly(): void
  /** Mounts a writable copy in the same place, as after a repair. */
  replace(): void
  unmount(): void
}

/**
 * Returns null and prints a warning if mounting is not permitted. `directory` becomes the mount point; its parent
 * contains the images.
 */
export function mountFailingDisk(directory: string): FailingDisk | null {
  const image = (number: number) => path.join(path.dirname(directory), `disk-${number}.img`)
  let mounted = 0
  let number = 1
  fs.writeFileSync(image(1), '')
  fs.truncateSync(image(1), 16 * 1024 * 1024)
  const made = run('mkfs.ext4', '-q', '-O', '^has_journal', '-m', '0', image(1))
  const device = made && mount() ? deviceOf(directory) : null
  const trigger = device === null ? null : `/sys/fs/ext4/${path.basename(device)}/trigger_fs_error`
  if (trigger === null || !fs.existsSync(trigger)) {
    unmount()
    console.warn('LEFT OUT: a file system that turns read-only, which takes the right to mount one')
    return null
  }
  fs.chmodSync(directory, 0o700)
  fs.rmSync(path.join(directory, 'lost+found'), { recursive: true, force: true })

  function mount(): boolean {
    const done = run('mount', '-o', 'loop,errors=remount-ro', image(number), directory)
    if (done) mounted += 1
    return done
  }

  function unmount(): void {
    for (; mounted > 0; mounted -= 1) run('umount', '--lazy', directory)
  }

  return {
    turnReadOnly() {
      run('sync', '--file-system', directory)
      fs.writeFileSync(trigger, 'x')
    },
    replace() {
      // Each image is a separate device; the first one stays read-only.
      fs.copyFileSync(image(number), image(number + 1))
      number += 1
      run('umount', '--lazy', directory)
      mounted -= 1
      if (!mount()) throw new Error(`${image(number)} cannot be mounted`)
    },
    unmount,
  }
}

function run(program: string, ...args: string[]): boolean {
  return spawnSync(program, args, { stdio: 'ignore' }).status === 0
}

function deviceOf(directory: string): string | null {
  const mounts = fs.readFileSync('/proc/self/mounts', 'utf8').split('\n')
  const [device] = mounts.findLast((line) => line.split(' ')[1] === directory)?.split(' ') ?? []
  return device ?? null
}
