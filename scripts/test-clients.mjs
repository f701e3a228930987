/**
 * `npm run test:clients`: scenes with real agent clients. `--all` adds the extended scenes, runs those of Claude Code again
 * by its hooks, and then the scenes of Claude Code and Codex with the former versions of both.
 */
import fs from 'node:fs'
import path from 'node:path'
import { commandOptions } from '../test/support/command/command-options.mjs'
import { CLIENTS_VARIABLE, CURRENT, FORMER, MODULE_VARIABLE, named } from './client-packages.mjs'
import { formerLeftOut, leftOutLine, runVitest } from './run-vitest.mjs'

const SCENES = 'test/clients'
const ALL = '`npm run test:clients -- --all`'
const HELP = `usage: npm run test:clients -- [--all] [file...]

  --all    also the extended scenes: behaviour that cheaper tests prove too, in another client or mode;
           the scenes of Claude Code again by its hooks instead of turnbell's module in it;
           and the scenes of Claude Code and Codex again with ${named(FORMER)}
  file     part of a file name, such as "codex"; without any, all files
`
const { values, positionals } = commandOptions(HELP, {
  options: { all: { type: 'boolean', default: false } },
  names: true,
})

const jobs = [job({ packages: CURRENT, files: positionals })]
const former = filesNamed(/^(claude-code|codex).*\.test\.ts$/)
const by_hooks = filesNamed(/^claude-code\.test\.ts$/)
if (values.all && by_hooks.length > 0) jobs.push(job({ packages: CURRENT, module: 'off', files: by_hooks }))
if (values.all && former.length > 0) jobs.push(job({ packages: FORMER, chosen: 'former', files: former }))
if (values.all && by_hooks.length > 0)
  jobs.push(job({ packages: FORMER, chosen: 'former', module: 'off', files: by_hooks }))

const leftOut = [leftOutLine(jobs[0].extendedLeftOut, ALL)]
if (!values.all && former.length > 0) leftOut.push(formerLeftOut(ALL))
for (const line of leftOut) if (line !== null) console.log(`LEFT OUT  ${line}`)
for (const { clients, passed, failures } of jobs)
  console.log(`${clients}: ${passed} passed, ${failures.length} failed`)
process.exitCode = Math.max(...jobs.map(({ exitCode }) => exitCode))

/** `chosen` and `module` are the values of the scenes' variables. */
function job({ packages, chosen = '', module = '', files }) {
  const clients = `${named(packages)}${module === 'off' ? ', Claude Code by hooks' : ''}`
  console.log(`\n== ${clients}`)
  const env = { ...process.env, [CLIENTS_VARIABLE]: chosen, [MODULE_VARIABLE]: module }
  return { clients, ...runVitest(['clients'], { all: values.all, more: files, env }) }
}

/** Returns the files of scenes that match, and of these those that were asked for on the command line. */
function filesNamed(pattern) {
  return fs
    .readdirSync(path.join(import.meta.dirname, '..', SCENES))
    .filter((file) => pattern.test(file))
    .map((file) => `${SCENES}/${file}`)
    .filter((file) => positionals.length === 0 || positionals.some((name) => file.includes(name)))
}
