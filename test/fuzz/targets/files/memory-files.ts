/** Fuzzes the folders of a project's shared memory and of Twining, as people and git leave them. */
import fs from 'node:fs'
import path from 'node:path'
import { readTwining } from '../../../../src/cli/import/twining.ts'
import { TurnbellError } from '../../../../src/contracts/errors/errors.ts'
import { openProjectRecords } from '../../../../src/storage/file/project/project-records.ts'
import { parseJsonOrNull } from '../../../../src/contracts/validation/json.ts'
import { rejectedIn } from '../../../support/disk/rejected-lines.ts'
import { fixtures } from '../../seeds.ts'
import { NEXT } from '../../parts.ts'
import { insist, type Target } from '../../target.ts'

const FILES = [
  'blackboard.jsonl',
  'decisions/a.json',
  'graph/entities.json',
  'graph/relations.json',
  'records/issue/a.json',
]
const PUT = 'new'
const KINDS = ['entry', 'decision', 'entity', 'relation', 'issue']

export const memoryFiles: Target = {
  name: 'memory-files',
  promise:
    'whatever stands in the files of a memory is read or set aside; a second look finds the same, and so it does after a put',
  share: 0.2,
  words: ['<<<<<<< HEAD', '=======', '>>>>>>> theirs', NEXT, '"kind":"issue"', '"id":"a"'],

  open({ directory }) {
    const [entries = ''] = fixtures('twining', '.jsonl')
    const graph = fixtures('twining/graph', '.json')
    const [decision = ''] = fixtures('twining/decisions', '.json')
    let count = 0
    return {
      seeds: [
        [entries, decision, ...graph, '{"kind":"issue","id":"a","title":"x"}\n'].join(NEXT),
        ['{"id":"a"}\n{"text":"x"}\nno json\n', '{"id":"a"}', '[{"id":"a"},{"x":1}]', '[]', '{}'].join(NEXT),
        [
          '<<<<<<< a\n{"id":"a"}\n=======\n{"id":"b"}\n>>>>>>> b\n',
          '{"id":"a","n":1,"n":2}',
          '[',
          '',
          '[',
        ].join(NEXT),
      ],
      lasts: 400,
      async attempt(input) {
        const root = path.join(directory, String((count += 1)))
        const folder = path.join(root, '.turnbell')
        const parts = input.toString('latin1').split(NEXT)
        const long_ago = new Date(Date.now() - 60_000)
        for (const [at, name] of FILES.entries()) {
          const file = path.join(folder, name)
          fs.mkdirSync(path.dirname(file), { recursive: true })
          fs.writeFileSync(file, Buffer.from(parts[at] ?? '', 'latin1'))
          fs.utimesSync(file, long_ago, long_ago)
        }
        const { items, unread } = readTwining(folder)
        const store = openProjectRecords({ root, pause: async () => undefined })
        const first = await looked(store)
        const second = await looked(openProjectRecords({ root, pause: async () => undefined }))
        insist(
          first === second,
          () => `another look finds something else: ${first.slice(0, 200)} ${second.slice(0, 200)}`,
        )
        await nothingDropped(store, folder, parts[0] ?? '')
        const kind = KINDS[input.length % KINDS.length] as string
        const told = await putInto(store, kind)
        const after = await looked(store)
        insist(after === first, () => `the put changed more: ${first.slice(0, 200)} ${after.slice(0, 200)}`)
        fs.rmSync(root, { recursive: true })
        return `${told} ${Math.min(items.length, 3)} ${Math.min(unread.length, 3)}`
      },
    }
  },
}

type Store = ReturnType<typeof openProjectRecords>

async function looked(store: Store): Promise<string> {
  const all = []
  for (const kind of KINDS) {
    try {
      all.push((await store.list(kind)).filter(({ id }) => id !== PUT))
    } catch (error) {
      if (!(error instanceof TurnbellError)) throw error
      all.push(error.code)
    }
  }
  return JSON.stringify(all)
}

/**
 * In a file of lines each line is either a valid record or a rejected one. Only the last may be incomplete, because a
 * writer may be appending it.
 */
async function nothingDropped(store: Store, folder: string, text: string): Promise<void> {
  const rows = await store.list('entry').catch(refusal)
  if (rows === null) return
  const ids = new Set(rows.map(({ id }) => id))
  const rejected = rejectedIn(path.join(folder, 'rejected/blackboard.jsonl'))
  const aside = new Set(
    rejected.map(({ line, base64 }) =>
      Buffer.from(base64 ?? line, base64 === undefined ? 'utf8' : 'base64')
        .toString('latin1')
        .trim(),
    ),
  )
  const lines = text.split('\n').map((one) => one.trim())
  for (const line of lines.slice(0, -1)) {
    if (line === '' || MARK.test(line) || aside.has(line)) continue
    const id = (parseJsonOrNull(Buffer.from(line, 'latin1').toString()) as { id?: unknown } | null)?.id
    insist(typeof id === 'string' && ids.has(id), () => `neither read nor set aside: ${line.slice(0, 200)}`)
  }
}

/** Conflict markers of git. */
const MARK = /^(<{7}|={7}|>{7}|\|{7})/

const refusal = (error: unknown): null => {
  if (!(error instanceof TurnbellError)) throw error
  return null
}

async function putInto(store: Store, kind: string): Promise<string> {
  try {
    await store.put(kind, PUT, { kind, id: PUT, n: 1 })
    insist((await store.get(kind, PUT))?.['n'] === 1, () => `a ${kind} that was put is not there`)
    return 'put'
  } catch (error) {
    if (!(error instanceof TurnbellError)) throw error
    return error.code
  }
}
