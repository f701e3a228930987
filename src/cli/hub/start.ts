/** Starts a hub in the background and prints how to stop it. */
import fs from 'node:fs'
import { startHubInBackground } from '../../system/process/background.ts'
import { resolveHome } from '../../system/config/home.ts'
import { shellWord } from '../../system/process/shell-word.ts'
import type { Invocation } from '../cli.ts'

/** The hub keeps running, also if the command is refused afterwards or named the wrong home. */
export function startHubBeside(invocation: Pick<Invocation, 'cli' | 'home' | 'out'>): void {
  const { cli, home, out } = invocation
  out.note(startingHub(invocation, { is_new: !fs.existsSync(home.root) }))
  startHubInBackground(cli.program, home, cli.env)
}

/** Returns a note with the command that stops the hub, as the caller has to type it. */
export function startingHub(
  { cli, home }: Pick<Invocation, 'cli' | 'home'>,
  { is_new }: { is_new: boolean },
): string {
  const usual = resolveHome(cli.env).root === home.root
  const down = usual ? 'turnbell down' : `turnbell down --home ${shellWord(home.root)}`
  const place = is_new ? `the new home ${home.root}` : home.root
  return `No hub runs; starting one in the background for ${place}. It runs until \`${down}\`.`
}
