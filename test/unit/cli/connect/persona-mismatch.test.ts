import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { otherProject, otherSurface } from '../../../../src/cli/connect/persona-mismatch.ts'
import { testCli } from '../../../support/processes/test-cli.ts'
import { temporaryDirectory } from '../../../support/temporary-directory.ts'

describe('the project of a persona', () => {
  /** Compares file names below one directory. */
  function isOther(own: string, project: string): boolean {
    const root = fs.realpathSync(temporaryDirectory())
    for (const name of ['shop/api', 'blog']) fs.mkdirSync(path.join(root, name), { recursive: true })
    fs.symlinkSync(path.join(root, 'shop'), path.join(root, 'link'))
    const settings = { surface: 'codex' as const, project: path.join(root, own) }
    const other = otherProject(settings, path.join(root, project))
    expect([null, settings.project]).toContain(other)
    return other !== null
  }

  test.each([
    ['shop', 'shop', false],
    ['shop', 'shop/api', false],
    ['link', 'shop', false],
    ['shop', 'blog', true],
    ['shop/api', 'shop', true],
    ['gone', 'shop', true],
  ])('the project %s differs from that of a client in %s: %s', (own, project, is_other) =>
    expect(isOther(own, project)).toBe(is_other),
  )

  test('a persona without a project accepts any project', () => {
    expect(otherProject({ surface: 'codex' }, '/anywhere')).toBeNull()
    expect(otherProject(undefined, '/anywhere')).toBeNull()
  })
})

test('a client matches its own surface and the surface mcp', () => {
  expect(otherSurface({ surface: 'codex' }, 'codex')).toBeNull()
  expect(otherSurface({ surface: 'mcp' }, 'codex')).toBeNull()
  expect(otherSurface({ surface: 'claude-code' }, 'codex')).toBe('claude-code')
  expect(otherSurface({ surface: 'codex', headless: true }, 'codex')).toContain('codex')
})

test.each([
  ['another surface', (elsewhere: string) => `surface: opencode, project: ${elsewhere}`],
  ['another project', (elsewhere: string) => `surface: codex, project: ${elsewhere}`],
])('doctor warns of a connection to a persona with %s', async (_, settings) => {
  const home = fs.realpathSync(temporaryDirectory())
  const [project = '', elsewhere = ''] = ['project', 'elsewhere'].map((name) => path.join(home, name))
  for (const directory of [project, elsewhere]) fs.mkdirSync(directory)
  const config = (text: string) =>
    fs.writeFileSync(path.join(home, 'config.yaml'), `personas: {ada: {${text}}}`)
  const program = path.join(home, 'turnbell.cjs')
  fs.writeFileSync(program, '')
  const turnbell = testCli({ home, overrides: { cwd: project, program, node: process.execPath } })
  config(`surface: codex, project: ${elsewhere}`)
  expect(await turnbell.run('connect', 'codex', '--persona', 'ada', '--json')).toBe(0)
  expect(turnbell.json()).toMatchObject({ persona_project: elsewhere })
  config(settings(elsewhere))
  await turnbell.run('doctor', '--json')
  const { findings } = turnbell.json<{ findings: { check: string; state: string; mend?: string }[] }>()
  const found = findings.find(({ check }) => check === 'connection codex')
  expect(found).toMatchObject({ state: 'warning' })
  expect(found?.mend).toContain('turnbell persona add ada')
})
