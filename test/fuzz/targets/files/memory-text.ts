/** Fuzzes the files of a project's shared memory as text: logs, tables, records, and merge conflicts. */
import { TurnbellError } from '../../../../src/contracts/errors/errors.ts'
import { isObject } from '../../../../src/contracts/validation/is-object.ts'
import { parseJsonl, sortedRows, type JsonlText } from '../../../../src/storage/file/project/jsonl-text.ts'
import { splitSides } from '../../../../src/storage/file/records/conflict-markers.ts'
import {
  parseRecord,
  recordName,
  recordText,
  type RecordForm,
} from '../../../../src/storage/file/records/record-file.ts'
import {
  linesInOrder,
  parseJsonArray,
  jsonArrayText,
} from '../../../../src/storage/file/project/json-array-text.ts'
import { fixtures } from '../../seeds.ts'
import { insist, type Target } from '../../target.ts'

const MARKS = '<<<<<<< ours\n=======\n>>>>>>> theirs\n'
const NEWLINE = 10

export const memoryLog: Target = {
  name: 'memory-log',
  promise: 'each line of a log is a record or has a reason; read on from any line end, it says the same',
  share: 8,
  words: ['<<<<<<< HEAD', '=======', '>>>>>>> theirs', '||||||| base', '"id":"a"'],

  open() {
    return {
      seeds: [
        ...fixtures('twining', '.jsonl'),
        `{"id":"a"}\n${MARKS}{"id":"b","n":1}\n{"id":"b","n":2}`,
        '{"x":1}\n\n \n[]',
      ],
      attempt(input) {
        const whole = parseJsonl('entry', input, null)
        let at = 0
        for (const { start, end, row, error: bad, without_id: nameless } of whole.lines) {
          insist(start === at && end > start, () => `a line begins at ${start} and not at ${at}`)
          at = end
          const says = [row, bad, nameless].filter((one) => one !== null).length
          const blank = input.toString('utf8', start, end).trim() === ''
          insist(says === (blank ? 0 : 1), () => `${says} things are said of the line at ${start}`)
        }
        insist(at === input.length, () => `what stands behind ${at} is passed over`)
        const cut = input.indexOf(NEWLINE, Math.floor(input.length / 2)) + 1
        if (cut > 0) {
          const grown = parseJsonl('entry', input, parseJsonl('entry', input.subarray(0, cut), null))
          insist(said(grown) === said(whole), () => 'read on from the middle it says something else')
        }
        const [bad, nameless] = [
          whole.invalid.length,
          whole.lines.filter((line) => line.without_id !== null).length,
        ]
        return `${Math.min(bad, 3)} ${Math.min(nameless, 2)} ${Math.min(whole.rows.size, 4)}`
      },
    }
  },
}

const said = (text: JsonlText) => JSON.stringify([sortedRows(text), text.lines])

export const memoryTable: Target = {
  name: 'memory-table',
  promise:
    'of a table everything is a record, nameless or left over; what it then writes is read as the same, and stays',
  share: 7,
  words: ['<<<<<<< HEAD', '=======', '>>>>>>> theirs', '"id":"a"', '\n,', '[\n', '\n]\n'],

  open() {
    return {
      seeds: [
        ...fixtures('twining/graph', '.json'),
        '[]\n',
        '[\n{"id":"a"}\n,{"id":"b"}\n]\n',
        '[\n<<<<<<< ours\n{"id":"a","n":1}\n=======\n{"id":"a","n":2}\n>>>>>>> theirs\n,{"id":"b"}\n]\n',
        '[{"id":"a"} {"id":"b"},,{"x":1}]',
      ],
      attempt(input) {
        const table = parseJsonArray('entity', input, null)
        const lines = linesInOrder(table)
        const text = jsonArrayText(lines.map((line) => line.text))
        const again = parseJsonArray('entity', Buffer.from(text), null)
        insist(again.is_clean, () => `what was written is not good: ${text.slice(0, 200)}`)
        const rows = (all: typeof lines) => JSON.stringify(all.map(({ row }) => row))
        insist(rows(linesInOrder(again)) === rows(lines), () => 'what was written is read as something else')
        if (input.toString().trim() === '' || table.lines.size > 0) return table.is_clean ? 'good' : 'mended'
        return `${table.unparsed.length > 0} ${table.without_id.length > 0}`
      },
    }
  },
}

const FORMS: readonly RecordForm[] = ['wrapped', 'plain', 'bare']

export const recordFiles: Target = {
  name: 'record-files',
  promise:
    'a file is the record of its name or has a reason; the record is written as a file that says the same',
  share: 8,

  open() {
    const plain = '{\n  "kind": "issue",\n  "id": "a",\n  "title": "x",\n  "tags": ["p", "q"]\n}\n'
    return {
      seeds: [
        `issue a\n${plain}`,
        `issue a\n{"kind":"issue","id":"a","body":{"id":"a","x":[1,2]}}`,
        `issue a\n{\n  "id": "a",\n<<<<<<< ours\n  "n": 1,\n=======\n  "n": 2,\n>>>>>>> theirs\n  "kind": "issue"\n}\n`,
        `issue a\n{\n  "id": "a",\n  "kind": "issue",\n  "n": 1,\n  "n": 2\n}\n`,
        ...fixtures('twining/decisions', '.json').map(
          (text) => `decision ${/"id": *"([^"]+)"/.exec(text)?.[1]}\n${text}`,
        ),
      ],
      attempt(input) {
        const first = input.indexOf('\n')
        const [kind = '', id = ''] = input.toString('utf8', 0, Math.max(0, first)).split(' ')
        const text = input.toString('utf8', first + 1)
        insist(splitSides(text).length <= 2, () => 'more than two sides')
        return FORMS.map((form) => roundTrip(form, kind, recordName(id), text)).join(' ')
      },
    }
  },
}

function roundTrip(form: RecordForm, kind: string, name: string, text: string): string {
  const read = parseRecord(form, kind, name, text)
  if ('reason' in read) return read.stays === true ? 'stays' : 'no'
  insist(isObject(read.body), () => 'the body is no object')
  let made: string
  try {
    made = recordText(form, kind, read.id, read.body)
  } catch (error) {
    if (error instanceof TurnbellError && error.code === 'record_too_large') return 'large'
    throw error
  }
  const again = parseRecord(form, kind, recordName(read.id), made)
  insist('id' in again, () => `what was written is refused: ${JSON.stringify(again)}: ${made.slice(0, 200)}`)
  insist(
    JSON.stringify([again.id, again.body]) === JSON.stringify([read.id, read.body]),
    () => `written and read again it is another: ${made.slice(0, 200)}`,
  )
  return read.merged === true ? 'merged' : 'yes'
}
