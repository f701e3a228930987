/** Starts a hub in the background and prints how to stop it. */
import fs from 'node:fs'
import { startHubInBackground } from '../system/background.ts'
import { resolveHome } from '../system/home.ts'
import { shellWord } from '../system/shell-word.ts'
import type { Invocation } from './cli.ts'

/** It stays: a command that is refused afterwards, or that was given another home than meant, leaves it running. */
export function startHubBeside(invocation: Pick<Invocation, 'cli' | 'home' | 'out'>): void {
  const { cli, home, out } = invocation
  out.note(startingHub(invocation, { is_new: !fs.existsSync(home.root) }))
  startHubInBackground(cli.program, home, cli.env)
}

/** The command that stops it, as the caller has to type it. */
export function startingHub(
  { cli, home }: Pick<Invocation, 'cli' | 'home'>,
  { is_new }: { is_new: boolean },
): string {
  const usual = resolveHome(cli.env).root === home.root
  const down = usual ? 'turnbell down' : `turnbell down --home ${shellWord(home.root)}`
  const place = is_new ? `${home.root}, which is new` : home.root
  return `No hub runs; starting one in the background, in ${place}. It stays until \`${down}\`.`
}
