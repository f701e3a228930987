/** Tests which project a memory call of `turnbell call` refers to, and how its paths are resolved. */
import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { TurnbellError } from '../../../src/contracts/errors/errors.ts'
import { testCli, type FakeHub } from '../../support/processes/test-cli.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

const ID = '01JZ0000000000000000000000'

function person(known: Record<string, string> = {}) {
  const at = fs.realpathSync(temporaryDirectory())
  const root = path.join(at, 'shop')
  for (const folder of ['shop/.git', 'shop/src/deep', 'elsewhere', 'other/.turnbell', 'home', 'plain/sub']) {
    fs.mkdirSync(path.join(at, folder), { recursive: true })
  }
  fs.writeFileSync(path.join(root, 'src/a.ts'), '')
  fs.writeFileSync(path.join(root, 'b.ts'), '')
  const answer = () => ({ ok: true })
  const hub: FakeHub = {
    ...{ 'decisions.why': answer, 'decisions.override': answer, 'personas.list': answer },
    ...{ 'twining_why.why': answer, 'blackboard.post': answer },
    'registry.resolve'({ project }) {
      const found = known[path.basename(String(project))]
      if (found === undefined) throw new TurnbellError('project_unknown', { detail: String(project) })
      return {
        project_id: ID,
        root: path.join(at, found),
        aliases: [],
        created_at: '2026-01-01T00:00:00.000Z',
      }
    },
  }
  const from = async (cwd: string, words: string[], params: object = {}) => {
    const home = path.join(at, 'home')
    const turnbell = testCli({ home, hub, overrides: { cwd: path.join(at, cwd) } })
    const code = await turnbell.run('call', ...words, '--params', JSON.stringify(params), '--json')
    const call = turnbell.hubCalls.at(-1)
    const relative = (one: unknown) => (typeof one === 'string' ? one.replace(`${at}/`, '@') : one)
    return {
      ...{ code, stderr: turnbell.stderr(), json: turnbell.json<unknown>() },
      scope: relative(call?.scope),
      params: JSON.parse(JSON.stringify(call?.params ?? {}).replaceAll(`${at}/`, '@')) as unknown,
    }
  }
  return { at, root, from }
}

const WHY = ['decisions', 'why']

describe('a call of the memory without --scope', () => {
  test('a memory call uses the project around the working directory and prints it on stderr', async () => {
    const { root, from } = person()
    for (const cwd of ['shop', 'shop/src/deep']) {
      expect(await from(cwd, WHY)).toMatchObject({
        ...{ code: 0, scope: `@${cwd}`, stderr: `Project: ${root}\n`, json: { ok: true } },
      })
    }
    expect(await from('other', WHY)).toMatchObject({ scope: '@other' })
  })

  test('a memory call without a project uses the memory of the hub and prints that', async () => {
    const { from } = person()
    const { code, scope, stderr } = await from('elsewhere', WHY)
    expect([code, scope]).toEqual([0, undefined])
    expect(stderr).toContain("hub's own memory")
  })

  test('a memory call finds a project that only the hub knows', async () => {
    const { at, from } = person({ sub: 'plain' })
    expect(await from('plain/sub', WHY)).toMatchObject({
      ...{ scope: '@plain/sub', stderr: `Project: ${path.join(at, 'plain')}\n` },
    })
  })

  test('a call of another facade is unchanged', async () => {
    const { from } = person()
    expect(await from('shop/src', ['personas', 'list'], { scope: 'a.ts' })).toMatchObject({
      ...{ scope: undefined, stderr: '', params: { scope: 'a.ts' } },
    })
  })
})

test.each([
  ['.', '@shop/src'],
  ['project', '@shop/src'],
  ['hub', undefined],
  ['shop', 'shop'],
  ['portfolio', 'portfolio'],
  ['..', '@shop'],
])('--scope %s is used without a note', async (said, scope) => {
  const { from } = person()
  expect(await from('shop/src', [...WHY, '--scope', said])).toMatchObject({ code: 0, scope, stderr: '' })
})

describe('a path in the params', () => {
  test.each([
    ['a.ts', '@shop/src/a.ts'],
    ['./a.ts', '@shop/src/a.ts'],
    ['./gone.ts', '@shop/src/gone.ts'],
    ['deep/', '@shop/src/deep/'],
    ['../b.ts', '@shop/b.ts'],
    ['.', '@shop/src'],
    ['..', '@shop'],
    ['src/a.ts', 'src/a.ts'],
    ['b.ts', 'b.ts'],
    ['project', 'project'],
    ['Cart#total', 'Cart#total'],
    ['../../elsewhere', '../../elsewhere'],
  ])('the path %s is resolved from a subdirectory', async (said, meant) => {
    const { from } = person()
    expect((await from('shop/src', WHY, { scope: said })).params).toEqual({ scope: meant })
    const given = { decision_id: ID, new_decision: { scope: said, affected_files: [said] } }
    expect((await from('shop/src', ['decisions', 'override'], given)).params).toEqual({
      ...{ decision_id: ID, new_decision: { scope: meant, affected_files: [meant] } },
    })
  })

  test('a path stays unchanged at the root and with another project', async () => {
    const { from } = person()
    expect((await from('shop', WHY, { scope: 'src/' })).params).toEqual({ scope: 'src/' })
    for (const scope of ['../../other', 'an-alias', 'hub']) {
      expect((await from('shop/src', [...WHY, '--scope', scope], { scope: 'a.ts' })).params).toEqual({
        scope: 'a.ts',
      })
    }
  })
})
