#!/usr/bin/env node
/**
 * The one command, which starts the program that is asked for. A client waits for its hooks at every
 * tool it uses: what tells of one is part of this file, which is built in the older form of modules. Node begins with
 * that at once, while the newer form has a loader to be started first.
 */
import { loadBundle, type BundleName } from './system/bundles.ts'
import { withPersonaOption } from './system/persona-option.ts'

const [command, ...rest] = process.argv.slice(2)

const BUNDLES: Record<string, BundleName> = { hub: 'hub', daemon: 'daemon', mcp: 'bridge' }
const wantsHelp = rest.includes('--help') || rest.includes('-h')

// A service manager that starts again after every failure (launchd) cannot be told which failures are
// final, so these are told to it as success. See service-templates/.
const finalExits = (process.env['TURNBELL_FINAL_EXITS'] ?? '').split(' ')
// Of what this starts, such as an agent's shell, every exit is told as it is.
delete process.env['TURNBELL_FINAL_EXITS']
process.on('exit', (code) => {
  if (finalExits.includes(String(code))) process.exitCode = 0
})

void start()

/** What is thrown ends the process with 1, as it would anywhere else. */
async function start(): Promise<void> {
  const name = command === undefined || wantsHelp ? undefined : BUNDLES[command]
  if (command === 'hook' && !wantsHelp) return (await import('./cli/hooks/main.ts')).main(rest)
  const program = await loadBundle(import.meta.dirname, name ?? 'cli')
  await program.main(name === undefined ? process.argv.slice(2) : withPersonaOption(rest))
}
