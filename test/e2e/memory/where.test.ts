/** Tests which memory a directory belongs to, with a home in its default place and cloned repositories. */
import fs from 'node:fs'
import path from 'node:path'
import { onTestFinished, expect, test } from 'vitest'
import type { Problem } from '../../../src/contracts/errors/errors.ts'
import { eventually } from '../../support/eventually.ts'
import { type Refused, hubHttp } from '../../support/worlds/hub-http.ts'
import { end, startHub, temporaryHome, turnbell } from '../../support/processes/processes.ts'
import { testRepository } from '../../support/disk/test-repository.ts'
import { treeOf, twiningProject } from '../../support/disk/twining.ts'

/** A user's directory with the home in it, the hub, and a command line in any directory. */
async function person() {
  const user = fs.realpathSync(temporaryHome())
  onTestFinished(() => fs.rmSync(user, { recursive: true, force: true }))
  const home = path.join(user, '.turnbell')
  const env = { HOME: user, TURNBELL_HOME: home }
  const hub = await startHub(home, ['--port', '0'], { TURNBELL_TOOLS: 'core,admin' })
  onTestFinished(async () => void (await end(hub, 'SIGTERM')))
  const at = (...names: string[]) => path.join(user, ...names)
  const make = (...names: string[]) => {
    fs.mkdirSync(at(...names), { recursive: true })
    return at(...names)
  }
  const typed = async (cwd: string, ...words: string[]) => {
    const { code, json } = await turnbell([...words, '--json'], { cwd, env })
    return { code, said: json<Record<string, unknown> & Problem>() }
  }
  const post = (cwd: string, summary: string, scope = '.') =>
    typed(
      ...([cwd, 'call', 'blackboard', 'post', '--scope', scope] as const),
      ...['--params', JSON.stringify({ entry_type: 'finding', summary })],
    )
  const summaries = async (cwd: string, scope = '.') => {
    const { code, said } = await typed(cwd, 'call', 'blackboard', 'read', '--scope', scope)
    expect(code).toBe(0)
    return (said['entries'] as { summary: string }[]).map(({ summary }) => summary)
  }
  return { user, home, at, make, typed, post, summaries, http: hubHttp(home) }
}

const LAID_OUT = [
  'blackboard.jsonl',
  'config.yml',
  'decisions',
  'graph',
  '.gitignore',
  '.gitattributes',
  'records',
]
const laidOutIn = (folder: string) => LAID_OUT.filter((name) => fs.existsSync(path.join(folder, name)))

test('a home is refused as a project and gets no project files', async () => {
  const { user, home, at, make, typed, post, summaries, http } = await person()
  const refused = {
    code: 'project_unknown',
    detail: `${user} is not a project: it has a turnbell home with secrets and a journal.`,
  }
  expect(await post(user, 'in home')).toMatchObject({ code: 2, said: refused })
  expect((await post(user, 'in home')).said.hint).toMatch(/scope/)
  expect(await post(make('notes'), 'in home', '..')).toMatchObject({ code: 2, said: refused })
  expect(await typed(user, 'call', 'decisions', 'list', '--scope', '.')).toMatchObject({
    code: 2,
    said: refused,
  })
  expect(await post(home, 'inside')).toMatchObject({ code: 2, said: { code: 'project_unknown' } })
  expect(await post(at('.turnbell', 'hub'), 'inside')).toMatchObject({
    code: 2,
    said: { code: 'project_unknown' },
  })
  const added = await http.post('/api/registry/add', { path: user }).catch((error: unknown) => error)
  expect((added as Refused).problem).toMatchObject(refused)
  const { folder } = twiningProject(make('old'))
  expect(await typed(user, 'import', '--from', 'twining', folder, '--project', user)).toMatchObject({
    code: 2,
    said: refused,
  })
  expect(await typed(user, 'connect', 'codex', '--persona', 'ada')).toMatchObject({ code: 2, said: refused })
  const line = { type: 'post', id: '01JZ0000000000000000000000', at: '2026-01-01T00:00:00.000Z', root: user }
  fs.appendFileSync(
    path.join(home, 'spool', 'hooks.jsonl'),
    `${JSON.stringify({ ...line, entry: { entry_type: 'status', summary: 'left' } })}\n`,
  )

  // Agents in this directory use the memory of the hub.
  expect(await typed(user, 'persona', 'add', 'ada', '--surface', 'mcp', '--project', '.')).toMatchObject({
    code: 0,
  })
  const { token } = await http.post<{ token: string }>('/auth/token', { identity: 'ada', kind: 'agent' })
  const call = { tool: 'blackboard', action: 'post', params: { entry_type: 'finding', summary: 'of ada' } }
  await http.post('/call', call, token)
  const read = await http.post<{ result: { entries: object[] } }>(
    '/call',
    { tool: 'blackboard', action: 'read' },
    token,
  )
  expect(read.result.entries).toMatchObject([{ summary: 'of ada' }])

  const aside = await eventually('the line is quarantined', () => {
    const text = fs.readFileSync(path.join(home, 'spool', 'rejected.jsonl'), 'utf8')
    return text.endsWith('\n') && text
  })
  expect(aside).toContain(refused.detail)
  expect((await http.post<{ projects: object[] }>('/api/projects/list', {})).projects).toEqual([])
  expect(laidOutIn(home)).toEqual([])

  // Directories below have their own memory.
  testRepository(make('code', 'x'))
  expect(await post(make('code', 'x', 'src'), 'of x')).toMatchObject({ code: 0 })
  expect(await post(at('notes'), 'of the notes')).toMatchObject({ code: 0 })
  expect(await summaries(at('code', 'x'))).toEqual(['of x'])
  expect(laidOutIn(at('code', 'x', '.turnbell'))).toContain('blackboard.jsonl')
  expect(laidOutIn(at('notes', '.turnbell'))).toContain('blackboard.jsonl')
  expect(laidOutIn(home)).toEqual([])
})

test('a fresh clone has one memory for any of its directories', async () => {
  const { at, make, typed, post, summaries, http } = await person()
  const origin = testRepository(make('origin'))
  origin.write('src/auth/jwt.ts', 'export {}\n')
  expect(await post(origin.root, 'known for long')).toMatchObject({ code: 0 })
  origin.commit('remember')
  origin.git('clone', '--quiet', origin.root, at('clone'))
  const src = at('clone', 'src')
  expect(await summaries(src)).toEqual(['known for long'])
  expect(await post(path.join(src, 'auth'), 'new')).toMatchObject({ code: 0 })
  expect(await summaries(at('clone'))).toEqual(['known for long', 'new'])
  expect(await summaries(src, './auth/jwt.ts')).toEqual(['known for long', 'new'])
  expect(fs.existsSync(path.join(src, '.turnbell'))).toBe(false)
  expect(fs.existsSync(path.join(src, 'auth', '.turnbell'))).toBe(false)
  const { projects } = await http.post<{ projects: { root: string }[] }>('/api/projects/list', {})
  expect(projects.map(({ root }) => root).sort()).toEqual([at('clone'), origin.root])

  // A nested repository that contains a memory.
  origin.git('clone', '--quiet', origin.root, at('clone', 'vendor'))
  const listed = await typed(make('clone', 'vendor', 'lib'), 'call', 'blackboard', 'read', '--scope', '.')
  expect(listed.said['entries']).toHaveLength(1)
  const before = treeOf(at('clone', '.turnbell'))
  expect(await post(at('clone', 'vendor', 'lib'), 'of the inner one')).toMatchObject({ code: 0 })
  expect(await summaries(at('clone', 'vendor'))).toEqual(['known for long', 'of the inner one'])
  expect(treeOf(at('clone', '.turnbell'))).toEqual(before)
})

test('the memory of a new repository is at its root', async () => {
  const { at, make, post, summaries } = await person()
  testRepository(make('new'))
  expect(await post(make('new', 'packages', 'a'), 'first')).toMatchObject({ code: 0 })
  expect(fs.existsSync(at('new', 'packages', 'a', '.turnbell'))).toBe(false)
  expect(await summaries(at('new'))).toEqual(['first'])
})
