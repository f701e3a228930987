/** Fuzzes the users' client files that `turnbell connect` edits: TOML, JSON with comments, Markdown. */
import { MARKDOWN_MARKS, putBlock } from '../../../../src/cli/connect/edit/marked-block.ts'
import { putTable } from '../../../../src/cli/connect/edit/toml.ts'
import { holds, put, take, type DesiredFile } from '../../../../src/cli/connect/desired-config.ts'
import { TurnbellError } from '../../../../src/contracts/errors/errors.ts'
import { insist, type Target } from '../../target.ts'

const FILE = 'the file'
const TOML: DesiredFile & { form: 'toml' } = {
  ...{ form: 'toml', file: FILE, at: ['mcp_servers', 'turnbell'] },
  body: '[mcp_servers.turnbell]\ncommand = "turnbell"\n',
}
const WANTED: readonly DesiredFile[] = [
  TOML,
  { form: 'markdown', file: FILE, body: 'words\n\nmore' },
  { form: 'script', file: FILE, body: 'turnbell hook post-commit' },
  {
    ...{ form: 'jsonc', file: FILE },
    entries: [
      { at: ['mcpServers', 'turnbell'], value: { command: 'turnbell', args: ['mcp'] } },
      { at: ['hooks', 'Stop'], value: { type: 'command' }, in_list: true },
    ],
  },
]
/** Any file can either be edited or is rejected with one of these codes. */
const ALLOWED: readonly string[] = ['config_invalid', 'connection_taken']

export const clientFiles: Target = {
  name: 'client-files',
  promise:
    'what connect puts into a file is there, and taken out again leaves the file as it was, or it is refused',
  share: 6,
  words: [
    '[mcp_servers]',
    '[[x]]',
    '"mcpServers":',
    '// c',
    '/* c */',
    '"""',
    "'''",
    '# >>> turnbell',
    '<!-- turnbell',
  ],

  open() {
    return {
      seeds: [
        '',
        'model = "x"\n\n[mcp_servers.other]\ncommand = "o"\n',
        'mcp_servers = { a = { command = "x" } }\n',
        '[a]\nb = """\nx\n"""\nc = [1,\n 2]\n',
        '{\n  // mine\n  "mcpServers": {"other": {"command": "x"}},\n}\n',
        '{"hooks":{"Stop":[{"type":"x"}]},"mcpServers":{}}',
        '# Title\n\ntext\n',
        putBlock('# Title\n', MARKDOWN_MARKS, 'lines').text,
        putTable(FILE, 'model = "x"\n', TOML).text,
      ],
      attempt(input) {
        const text = input.toString()
        return WANTED.map((wanted) => inAndOut(wanted, text)).join(' ')
      },
    }
  },
}

function inAndOut(wanted: DesiredFile, text: string): string {
  try {
    if (holds(wanted, text)) return 'held'
    const done = put(wanted, text)
    insist(holds(wanted, done.text), () => `${wanted.form}: what was put is not there`)
    const untouched = take(FILE, done.text, done.written, true)
    const former = untouched.replaceAll('\r\n', '\n')
    // An existing block of turnbell is replaced as an older version.
    if (!text.includes('turnbell: begin'))
      insist(
        former === text.replaceAll('\r\n', '\n'),
        () => `${wanted.form}: not as it was: ${JSON.stringify(untouched)}`,
      )
    const edited = take(FILE, done.text, done.written, false)
    insist(
      !isThere(wanted, edited),
      () => `${wanted.form}: taken out, and still there: ${JSON.stringify(edited)}`,
    )
    return 'put'
  } catch (error) {
    if (error instanceof TurnbellError && ALLOWED.includes(error.code)) return error.code
    throw error
  }
}

function isThere(wanted: DesiredFile, text: string): boolean {
  try {
    return holds(wanted, text)
  } catch {
    return false
  }
}
