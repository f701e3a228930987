/** `npm run test:clients`: scenes with real agent clients. Leaves out the extended scenes unless `--all` is given. */
import { commandOptions } from '../test/support/command-options.mjs'
import { leftOutLine, runVitest } from './run-vitest.mjs'

const HELP = `usage: npm run test:clients -- [--all] [file...]

  --all    also the extended scenes: behaviour that cheaper tests prove too, in another client or mode
  file     part of a file name, such as "codex"; without any, all files
`
const { values, positionals } = commandOptions(HELP, {
  options: { all: { type: 'boolean', default: false } },
  names: true,
})

const { exitCode, extendedLeftOut } = runVitest(['clients'], { all: values.all, more: positionals })
const leftOut = leftOutLine(extendedLeftOut, '`npm run test:clients -- --all`')
if (leftOut !== null) console.log(`LEFT OUT  ${leftOut}`)
process.exitCode = exitCode
