import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { ImportInput, ImportSort, type Imported } from '../../../src/contracts/memory/import.ts'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import { testCli, type FakeHub } from '../../support/processes/test-cli.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'
import { twiningProject } from '../../support/disk/twining.ts'

const PROJECT = '01M7XS92Q7DKEMEZQ98EFZNGV4'

/** A hub that accepts everything, or returns another answer. */
function place(answer: (input: ImportInput, call: number) => Partial<Imported> = () => ({})) {
  const home = fs.realpathSync(temporaryDirectory())
  const inputs: ImportInput[] = []
  const hub: FakeHub = {
    'context.import'(params) {
      const input = ImportInput.parse(params)
      inputs.push(input)
      const counts = Object.fromEntries(
        ImportSort.options.map((sort) => [
          sort,
          { taken: input[sort].length, known: 0, changed: 0, rejected: 0 },
        ]),
      )
      return {
        ...{ project_id: PROJECT, counts, changed: [], rejected: [], same_as: {} },
        ...answer(input, inputs.length),
      }
    },
  }
  const { root, folder } = twiningProject(home)
  const cli = testCli({ home, hub })
  const write = (name: string, text: string) => {
    fs.mkdirSync(path.dirname(path.join(folder, name)), { recursive: true })
    fs.writeFileSync(path.join(folder, name), text)
  }
  return { home, root, folder, cli, inputs, write, run: (...words: string[]) => cli.run('import', ...words) }
}

interface Told {
  project: string
  counts: Record<string, { taken: number }>
  unread: { file: string; line?: number; item?: number; id?: string; reason: string }[]
  left_out: string[]
}
/** Creates a file without using disk space. */
function sparse(file: string, bytes: number): void {
  fs.writeFileSync(file, '')
  fs.truncateSync(file, bytes)
}
const line = (fields: object = {}) =>
  `${JSON.stringify({ id: PROJECT, entry_type: 'finding', summary: 'x', ...fields })}\n`

describe('import --from twining', () => {
  test.each([
    ['the folder itself', (folder: string) => folder],
    ['the project that contains it', (folder: string) => path.dirname(folder)],
  ])('import accepts %s and uses the project around it', async (_, named) => {
    const { root, folder, run, cli, inputs } = place()
    expect(await run('--from', 'twining', named(folder), '--json')).toBe(0)
    expect(cli.json<Told>()).toMatchObject({
      ...{ from: folder, project: root, project_id: PROJECT, unread: [], left_out: ['config.yml'] },
      counts: { entries: { taken: 22 }, decisions: { taken: 7 }, entities: { taken: 25 } },
    })
    expect(cli.hubCalls.map(({ scope }) => scope)).toEqual([root])
    expect(inputs[0]?.entries[0]).toMatchObject({ summary: 'Note 0 about auth', agent_id: 'ann' })
  })

  test('import prints a line for each sort and the path of the settings', async () => {
    const { root, folder, run, cli } = place()
    expect(await run('--from', 'twining', folder)).toBe(0)
    expect(cli.stdout()).toMatch(/^ {2}entries +22 imported, 0 already here$/m)
    expect(cli.stdout()).toMatch(/^ {2}relations +24 imported/m)
    expect(cli.stdout()).toContain('Not imported: config.yml')
    expect(cli.stdout()).toContain(path.join(root, '.turnbell', 'config.yml'))
  })

  test('import reports unreadable lines of a file once per reason with their number', async () => {
    const { folder, run, cli, write } = place()
    write('blackboard.jsonl', '[]\n[]\n[]\n')
    expect(await run('--from', 'twining', folder)).toBe(1)
    expect(cli.stdout().match(/^Not readable: .*$/gm)).toEqual([
      expect.stringContaining('blackboard.jsonl, line 1, and 2 more: '),
    ])
  })

  test('import uses --project, else the current directory', async () => {
    const { home, folder, run, cli } = place()
    fs.mkdirSync(path.join(home, 'shop'))
    await run('--from', 'twining', folder, '--project', 'shop')
    fs.renameSync(folder, path.join(home, 'old'))
    await run('--from', 'twining', 'old')
    expect(cli.hubCalls.map(({ scope }) => scope)).toEqual([path.join(home, 'shop'), home])
  })

  test('import reads archives with their day', async () => {
    const { folder, run, inputs, write } = place()
    write('archive/2026-01-05-blackboard.jsonl', line())
    write('archive/blackboard.jsonl', line({ timestamp: '2026-02-03T10:00:00Z' }))
    write('archive/notes.txt', 'mine')
    expect(await run('--from', 'twining', folder)).toBe(0)
    expect(inputs.flatMap(({ archived }) => archived.map(({ day }) => day))).toEqual([
      '2026-01-05',
      '2026-02-03',
    ])
  })

  test('import replaces an invalid day and uploads the rest', async () => {
    const { folder, run, inputs, write } = place()
    write('archive/2024-13-01-blackboard.jsonl', line({ timestamp: '2024-12-31T10:00:00Z' }) + line())
    write('archive/blackboard.jsonl', line({ timestamp: '2026-02-30T10:00:00Z' }) + line({ timestamp: 7 }))
    expect(await run('--from', 'twining', folder)).toBe(0)
    expect(inputs.flatMap(({ archived }) => archived.map(({ day }) => day))).toEqual([
      '2024-12-31',
      ...['1970-01-01', '1970-01-01', '1970-01-01'],
    ])
    expect(inputs[0]?.entries).toHaveLength(22)
  })

  test.each<[string, string, string, object]>([
    [
      'a line that is not JSON',
      'blackboard.jsonl',
      `${line()}{"id":\n${line()}`,
      { line: 2, reason: /valid JSON/ },
    ],
    [
      'a line that is not an object',
      'blackboard.jsonl',
      '\n"hello"\n',
      { line: 2, reason: /not a JSON object/ },
    ],
    ['merge conflict markers', 'blackboard.jsonl', '<<<<<<< HEAD\n', { line: 1, reason: /valid JSON/ }],
    ['a decision that is not an object', 'decisions/x.json', '[]', { reason: /not a JSON object/ }],
    ['a truncated decision', 'decisions/x.json', '{"id":', { reason: /valid JSON/ }],
    ['a graph that is not a list', 'graph/entities.json', '{}', { reason: /not a list/ }],
    [
      'an entity that is not an object',
      'graph/entities.json',
      '[{}, 7]',
      { item: 2, reason: /not a JSON object/ },
    ],
    [
      'an invalid line of an archive',
      'archive/2026-01-05-blackboard.jsonl',
      '{',
      { line: 1, reason: /valid JSON/ },
    ],
  ])(
    'import reports %s with its location and reason, imports the rest and fails',
    async (_, file, text, told) => {
      const { folder, run, cli, inputs, write } = place()
      write(file, text)
      expect(await run('--from', 'twining', folder, '--json')).toBe(1)
      const { reason, ...spot } = told as { reason: RegExp }
      const { unread, counts } = cli.json<Told>()
      expect(unread).toEqual([{ file, ...spot, reason: expect.stringMatching(reason) as string }])
      expect(inputs).not.toEqual([])
      expect(counts['decisions']?.taken).toBe(7)
      await run('--from', 'twining', folder)
      expect(cli.stdout()).toContain(`Not readable: ${file}`)
    },
  )

  test('import skips bytes that are not UTF-8', async () => {
    const { folder, run, cli } = place()
    const bytes = Buffer.concat([
      Buffer.from(line()),
      Buffer.from([0x22, 0xff, 0x22, 0x0a]),
      Buffer.from(line()),
    ])
    fs.writeFileSync(path.join(folder, 'blackboard.jsonl'), bytes)
    expect(await run('--from', 'twining', folder, '--json')).toBe(1)
    expect(cli.json<Told>()).toMatchObject({
      unread: [{ file: 'blackboard.jsonl', line: 2 }],
      counts: { entries: { taken: 2 } },
    })
  })

  test('import reads files with a byte order mark, and empty files', async () => {
    const { folder, run, cli, write } = place()
    write('blackboard.jsonl', `\uFEFF${line()}\r\n${line()}`)
    write('graph/entities.json', '')
    expect(await run('--from', 'twining', folder, '--json')).toBe(0)
    expect(cli.json<Told>().counts).toMatchObject({ entries: { taken: 2 }, entities: { taken: 0 } })
  })

  test('import reports an unreadable file', async () => {
    const { folder, run, cli } = place()
    fs.rmSync(path.join(folder, 'blackboard.jsonl'))
    fs.mkdirSync(path.join(folder, 'blackboard.jsonl'))
    expect(await run('--from', 'twining', folder, '--json')).toBe(1)
    expect(cli.json<Told>().unread).toMatchObject([{ file: 'blackboard.jsonl' }])
  })

  const DEEP = `{"id":"${PROJECT}","x":${'['.repeat(20_000)}${']'.repeat(20_000)}}`
  test.each<[string, string, string]>([
    ['a line', 'blackboard.jsonl', `${line()}${DEEP}\n`],
    ['a decision', 'decisions/x.json', DEEP],
    ['an entity', 'graph/entities.json', `[${DEEP}]`],
  ])('import reports %s with too deep nesting and imports the rest', async (_, file, text) => {
    const { folder, run, cli, write } = place()
    write(file, text)
    expect(await run('--from', 'twining', folder, '--json')).toBe(1)
    const { unread, counts } = cli.json<Told>()
    expect(unread).toMatchObject([{ file, reason: expect.stringMatching(/^the value is nested/) as string }])
    expect(counts['relations']?.taken).toBe(24)
  })

  const SECRET = '{"token":"hush"}'
  test.each<[string, string, (at: string, secret: string) => void]>([
    ['a link', 'decisions/x.json', (at, secret) => fs.symlinkSync(secret, at)],
    ['a link to what is no JSON', 'blackboard.jsonl', (at) => fs.symlinkSync('/etc/passwd', at)],
    ['a link to nowhere', 'decisions/x.json', (at) => fs.symlinkSync('/nonexistent/file', at)],
    ['a link to a device', 'archive/2026-01-05-blackboard.jsonl', (at) => fs.symlinkSync('/dev/zero', at)],
    ['a pipe', 'decisions/x.json', (at) => execFileSync('mkfifo', [at])],
    ['a pipe', 'blackboard.jsonl', (at) => execFileSync('mkfifo', [at])],
    ['a file without end', 'graph/entities.json', (at) => sparse(at, LIMITS.import_file_bytes_max + 1)],
    ['a link', 'graph', (at, secret) => fs.symlinkSync(path.dirname(secret), at)],
    ['a link', 'decisions', (at, secret) => fs.symlinkSync(path.dirname(secret), at)],
    ['a link', 'archive', (at, secret) => fs.symlinkSync(path.dirname(secret), at)],
  ])('import skips and reports %s in the place of %s', async (_, name, make) => {
    const { folder, run, cli, inputs } = place()
    const outside = temporaryDirectory()
    for (const file of ['a.json', 'entities.json', 'relations.json'])
      fs.writeFileSync(path.join(outside, file), file === 'a.json' ? SECRET : `[${SECRET}]`)
    fs.rmSync(path.join(folder, name), { recursive: true, force: true })
    fs.mkdirSync(path.dirname(path.join(folder, name)), { recursive: true })
    make(path.join(folder, name), path.join(outside, 'a.json'))
    expect(await run('--from', 'twining', folder, '--json')).toBe(1)
    const { unread } = cli.json<Told>()
    expect(unread.length).toBeGreaterThan(0)
    for (const { file, reason } of unread) {
      expect(file.startsWith(name)).toBe(true)
      expect(reason).toMatch(/not a regular file|it is a link|larger than/)
    }
    expect(JSON.stringify([inputs, unread])).not.toMatch(/hush|root:/)
  })

  test('import refuses a linked folder and accepts its target', async () => {
    const { home, root, folder, run, cli } = place()
    fs.renameSync(folder, path.join(home, 'elsewhere'))
    fs.symlinkSync(path.join(home, 'elsewhere'), folder)
    for (const named of [root, folder]) {
      expect(await run('--from', 'twining', named)).not.toBe(0)
      expect(cli.stderr()).toContain('is a link')
    }
    expect(await run('--from', 'twining', path.join(home, 'elsewhere'), '--project', root)).toBe(0)
  })

  test('import names file and line of items that the hub rejects', async () => {
    const rejected: Imported['rejected'] = [
      { sort: 'entries', at: 3, id: 'x', reason: 'entry_type: expected one of them' },
      { sort: 'relations', at: 1, id: null, reason: 'source: expected an id' },
    ]
    const { folder, run, cli } = place(() => ({ rejected }))
    expect(await run('--from', 'twining', folder, '--json')).toBe(1)
    expect(cli.json<Told>().unread).toEqual([
      { file: 'blackboard.jsonl', line: 4, id: 'x', reason: 'entry_type: expected one of them' },
      { file: 'graph/relations.json', item: 2, reason: 'source: expected an id' },
    ])
  })

  test('import reports an item with different content here without failing', async () => {
    const { folder, run, cli } = place(() => ({ changed: [{ sort: 'decisions', id: PROJECT }] }))
    expect(await run('--from', 'twining', folder)).toBe(0)
    expect(cli.stdout()).toContain(`Skipped: ${PROJECT} (decisions)`)
  })

  test('import replaces control characters in names of the folder', async () => {
    const { folder, run, cli, write } = place()
    write('\u001b[2J\nNot readable: z', 'mine')
    write('decisions/\u001b[2J.json', '{"id":')
    write('blackboard.jsonl', '\u009b2J\n')
    expect(await run('--from', 'twining', folder)).toBe(1)
    expect(cli.stdout()).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/)
    expect(cli.stdout()).toMatch(/^Not imported: .*\ufffd\[2J Not readable: z/m)
    expect(cli.stdout()).toMatch(/^Not readable: decisions\/\ufffd\[2J\.json: /m)
    expect(cli.stdout()).not.toMatch(/^Not readable: z/m)
  })

  test('import uploads in calls within the limits of the hub and maps relations', async () => {
    const other = '01M7XS931ARQJ0BZJ3TYTZ00EK'
    const { folder, run, inputs, write, cli } = place((_, call) =>
      call === 1 ? { same_as: { [PROJECT]: other } } : {},
    )
    const detail = 'x'.repeat(50_000)
    write('blackboard.jsonl', line({ detail }).repeat(40))
    write('graph/entities.json', JSON.stringify(Array(LIMITS.import_items_max).fill({ id: PROJECT })))
    write('graph/relations.json', JSON.stringify([{ id: PROJECT, source: PROJECT, target: other }]))
    expect(await run('--from', 'twining', folder, '--json')).toBe(0)
    expect(cli.json<Told>().counts['entries']?.taken).toBe(40)
    expect(inputs.length).toBeGreaterThan(4)
    for (const input of inputs) {
      expect(Buffer.byteLength(JSON.stringify(input))).toBeLessThan(LIMITS.body_bytes_max)
      expect(input.same_as).toEqual(input.relations.length === 0 ? {} : { [PROJECT]: other })
    }
  })

  test('import does not upload an item that is too large and reports it', async () => {
    const { folder, run, inputs, write, cli } = place()
    write('blackboard.jsonl', line({ detail: 'x'.repeat(2 * LIMITS.body_bytes_max) }) + line())
    expect(await run('--from', 'twining', folder, '--json')).toBe(1)
    expect(cli.json<Told>().unread).toMatchObject([{ file: 'blackboard.jsonl', line: 1 }])
    expect(inputs.flatMap(({ entries }) => entries)).toHaveLength(1)
  })

  test.each([
    ['a directory without the folder', '.', /blackboard\.jsonl/],
    ['a missing directory', 'nowhere', /nowhere/],
  ])('import refuses %s with a hint and without a call to the hub', async (_, named, detail) => {
    const { home, run, cli } = place()
    fs.mkdirSync(path.join(home, 'empty'))
    cli.cli.cwd = path.join(home, 'empty')
    expect(await run('--from', 'twining', named, '--json')).toBe(64)
    expect(cli.json()).toMatchObject({
      detail: expect.stringMatching(detail) as string,
      hint: expect.stringContaining('.twining') as string,
    })
    expect(cli.hubCalls).toEqual([])
  })

  test('import without a hub prints how to start one', async () => {
    const { folder, home } = place()
    const cli = testCli({ home })
    expect(await cli.run('import', '--from', 'twining', folder, '--json')).toBe(69)
    expect(cli.json()).toMatchObject({ hint: expect.stringContaining('turnbell up') as string })
  })

  test('import refuses another tool', async () => {
    const { folder, run } = place()
    expect(await run('--from', 'notes', folder)).toBe(64)
    expect(await run(folder)).toBe(64)
  })
})
