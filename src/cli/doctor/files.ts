/** Checks for entries of the wrong type in the home, such as a directory, a device or a broken link instead of a file. */
import fs from 'node:fs'
import path from 'node:path'
import { obstacleAt, moveAwayCommand } from '../../system/files/in-place.ts'
import type { Invocation } from '../cli.ts'
import { personasOfHome } from '../personas/of-home.ts'
import { broken, type Finding } from './finding.ts'

export function checkFiles(invocation: Invocation): Finding[] {
  const { home } = invocation
  const personas = personasOfHome(invocation).map((identity) => invocation.paths(identity))
  const files = [
    ...[home.hub_log, home.dispatch_log, home.hub_pid, home.hub_port, `${home.hub_lock}.owner`],
    path.join(home.hub_dir, 'store.lock.owner'),
    ...personas.flatMap(({ log, daemon_pid, daemon_state, metrics_file, daemon_lock }) => [
      ...[log, daemon_pid, daemon_state, metrics_file, `${daemon_lock}.owner`],
    ]),
  ]
  const folders = [path.join(home.root, 'run'), ...personas.flatMap((own) => [own.run_dir, own.socket_dir])]
  const misplaced = [
    ...files.filter(isOtherType).map((file) => ({ file, expected: 'a plain file' })),
    ...[...new Set(folders.flatMap((folder) => obstacleAt(folder) ?? []))].map((file) => ({
      file,
      expected: 'a directory',
    })),
  ]
  return misplaced.map(({ file, expected }) =>
    broken(
      'files',
      `${file} is not ${expected}`,
      `Move it away: \`${moveAwayCommand(file)}\`. turnbell recreates it.`,
    ),
  )
}

/** Returns true if an entry exists and is not a file. */
function isOtherType(file: string): boolean {
  try {
    if (fs.lstatSync(file, { throwIfNoEntry: false }) === undefined) return false
    return fs.statSync(file, { throwIfNoEntry: false })?.isFile() !== true
  } catch {
    // The check of the directory reports an unreadable entry.
    return false
  }
}
