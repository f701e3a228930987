/**
 * Tests that trust for hooks is granted through Codex's own interface, and only turnbell's own entries are removed
 * again.
 */
import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { testCli } from '../../../support/processes/test-cli.ts'
import { temporaryDirectory } from '../../../support/temporary-directory.ts'

/** A fake Codex: lists the project's hooks, of which it trusts the first, and records its input. */
const CODEX = `#!${process.execPath}
const fs = require('node:fs')
const project = PROJECT
console.log('Welcome to Codex')
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line)
  if (id === undefined) return
  const config = project + '/.codex/config.toml'
  if (method === 'config/batchWrite' && params.edits[0].value === null && fs.existsSync(config)) fs.appendFileSync(config, '# said meanwhile\\n')
  if (method === 'config/batchWrite') fs.appendFileSync(WRITTEN, JSON.stringify(params.edits) + '\\n')
  const events = method === 'hooks/list' ? Object.entries(JSON.parse(fs.readFileSync(project + '/.codex/hooks.json')).hooks) : []
  const hooks = events.slice(0, LISTED).map(([event, [{ hooks: [{ command }] }]], n) => ({
    key: event, command, currentHash: 'hash of ' + event, trustStatus: n === 0 ? 'trusted' : 'untrusted',
  }))
  console.log(JSON.stringify({ id, result: { data: [{ hooks }] } }))
})
`

function place(listed = 9) {
  const home = fs.realpathSync(temporaryDirectory())
  const project = path.join(home, 'project')
  fs.mkdirSync(project)
  const [codex, written] = [path.join(home, 'codex'), path.join(home, 'written')]
  const script = CODEX.replace('PROJECT', JSON.stringify(project))
    .replace('WRITTEN', JSON.stringify(written))
    .replace('LISTED', String(listed))
  fs.writeFileSync(codex, script, { mode: 0o755 })
  fs.writeFileSync(path.join(home, 'config.yaml'), `clients: {codex: ${codex}}\n`, { mode: 0o600 })
  const cli = testCli({ home, overrides: { cwd: project } })
  const edits = () =>
    fs
      .readFileSync(written, 'utf8')
      .trim()
      .split('\n')
      .map((line) =>
        (JSON.parse(line) as { keyPath: string; value: unknown }[]).map(({ keyPath, value }) => [
          keyPath,
          value,
        ]),
      )
  return { project, codex, cli, edits }
}

test('disconnect keeps the trust in hooks that the user gave before', async () => {
  const { cli, edits } = place()
  expect(await cli.run('connect', 'codex', '--persona', 'ada', '--trust-hooks')).toBe(0)
  const [given = []] = edits()
  expect(given).toHaveLength(4)
  expect(await cli.run('connect', 'codex', '--persona', 'ada', '--trust-hooks')).toBe(0)
  expect(await cli.run('disconnect', 'codex')).toBe(0)
  expect(edits().at(-1)).toEqual(given.map(([key]) => [key, null]))
})

test('disconnect of a deleted project removes the trust in its hooks', async () => {
  const { cli, project, edits } = place()
  await cli.run('connect', 'codex', '--persona', 'ada', '--trust-hooks')
  fs.rmSync(project, { recursive: true })
  expect(await cli.run('disconnect', 'codex', '--project', project)).toBe(0)
  expect(
    edits()
      .at(-1)
      ?.every(([, value]) => value === null),
  ).toBe(true)
})

test('disconnect without Codex removes the entries and prints the trusted keys', async () => {
  const { cli, codex, project, edits } = place()
  await cli.run('connect', 'codex', '--persona', 'ada', '--trust-hooks')
  const [[key] = []] = edits()[0] ?? []
  fs.rmSync(codex)
  expect(await cli.run('disconnect', 'codex')).toBe(0)
  expect(cli.stderr()).toContain(key)
  expect(fs.readdirSync(project)).toEqual([])
})

test('disconnect keeps changes that were made while the trust was removed', async () => {
  const { cli, project } = place()
  const file = path.join(project, '.codex', 'config.toml')
  await cli.run('connect', 'codex', '--persona', 'ada', '--trust-hooks')
  expect(await cli.run('disconnect', 'codex')).toBe(0)
  expect(fs.readFileSync(file, 'utf8')).toBe('# said meanwhile\n')
})

test('a Codex with an unknown list of hooks is reported with the next step', async () => {
  const { cli, codex } = place()
  const script = fs.readFileSync(codex, 'utf8')
  fs.writeFileSync(codex, script.replace('{ data: [{ hooks }] }', '{ hooks }'))
  expect(await cli.run('connect', 'codex', '--persona', 'ada', '--trust-hooks')).not.toBe(0)
  expect(cli.stderr()).toContain('Everything except the trust is written')
  expect(cli.stderr()).toContain('unknown form: data: ')
  expect(cli.stderr()).toContain('omit --trust-hooks')
})

test('hooks that Codex does not list are reported', async () => {
  const { cli } = place(1)
  expect(await cli.run('connect', 'codex', '--persona', 'ada', '--trust-hooks')).toBe(0)
  expect(cli.stdout()).toContain('only 1 of these 5 hooks')
})
