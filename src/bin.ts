#!/usr/bin/env node
/** The command `turnbell`: starts the program that its first word names. */
import { loadBundle, type BundleName } from './system/process/bundles.ts'
import { withPersonaOption } from './system/clients/persona-option.ts'

const [command, ...rest] = process.argv.slice(2)

const BUNDLES: Record<string, BundleName> = { hub: 'hub', daemon: 'daemon', mcp: 'bridge', hook: 'hook' }
const wantsHelp = rest.includes('--help') || rest.includes('-h')

// launchd restarts a job after every failure and has no list of final exit codes, so those codes are reported to it as
// success. See service-templates/.
const finalExits = (process.env['TURNBELL_FINAL_EXITS'] ?? '').split(' ')
// Programs that this process starts, such as an agent's shell, keep their exit codes.
delete process.env['TURNBELL_FINAL_EXITS']
process.on('exit', (code) => {
  if (finalExits.includes(String(code))) process.exitCode = 0
})

void start()

/** An error that it throws ends the process with 1. */
async function start(): Promise<void> {
  const name = command === undefined || wantsHelp ? undefined : BUNDLES[command]
  const program = await loadBundle(import.meta.dirname, name ?? 'cli')
  await program.main(name === undefined ? process.argv.slice(2) : withPersonaOption(rest))
}
