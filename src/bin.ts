#!/usr/bin/env node
/**
 * The one command. Hub, daemon and bridge are bundles of their own, so that each loads only what it
 * needs: a daemon runs all day for every persona, and starts must be quick.
 */
import type { main } from './cli/hooks/main.ts'

const [command, ...rest] = process.argv.slice(2)

/** Every bundle's is of the same form. */
interface Program {
  main: typeof main
}

// Each bundle lies beside this file; the names are made so that the bundler leaves the imports alone.
const BUNDLES: Record<string, string> = {
  hub: './hub.js',
  daemon: './daemon.js',
  mcp: './bridge.js',
  hook: './hook.js',
}
const bundle = command === undefined ? undefined : BUNDLES[command]
const wantsHelp = rest.includes('--help') || rest.includes('-h')

// A service manager that starts again after every failure (launchd) cannot be told which failures are
// final, so these are told to it as success. See service-templates/.
const finalExits = (process.env['TURNBELL_FINAL_EXITS'] ?? '').split(' ')
process.on('exit', (code) => {
  if (finalExits.includes(String(code))) process.exitCode = 0
})

const program = (await import(bundle !== undefined && !wantsHelp ? bundle : './cli.js')) as Program
await program.main(bundle !== undefined && !wantsHelp ? rest : process.argv.slice(2))
