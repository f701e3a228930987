/** Fuzzes the bytes that git prints and its exit status. */
import type { GitOutput } from '../../../../src/ports/git.ts'
import { answerOf, ended, GIT_ACTIONS, printsOf, SAMPLE, toldBy } from '../../peers/fake-git.ts'
import { NEXT } from '../../parts.ts'
import type { Target } from '../../target.ts'

const NEWLINE = 10
/** Size of a repeated text that does not fit into a response. */
const REPEATED_BYTES_MAX = 512 * 1024

export const gitOutput: Target = {
  name: 'git-output',
  promise:
    'whatever git prints and however it ends, an action answers a value of its schema that fits a frame, or a declared refusal',
  share: 0.4,
  words: [NEXT, 'ended', 'full', 'late', '128', '40', 'has only 3 lines', ...Object.keys(GIT_ACTIONS)],

  async open() {
    return {
      seeds: [
        ...(await Promise.all(Object.keys(GIT_ACTIONS).map((name) => recorded(name, 1)))),
        await recorded('blame_context', 9_999),
        'blame_context 128 1 fatal: file a has only 3 lines\n',
        'status 128 1 fatal: bad object\n',
        'scan 1 1 \n',
        // Short, so that mutations are likely to change a number.
        'status ended 1\n# branch.ab +1 -2\0',
        'changed_files ended 1\n:100644 100644 a b M\0a\u00001\t2\ta\0',
        'blame_context ended 1\na 1 42 1\n\tx\n',
        'scan ended 1\na\0b\0',
        'tags ended 1\nv1\0a\0\u00001772366400\0\0',
      ],
      async attempt(input) {
        const head_end = Math.max(0, input.indexOf(NEWLINE))
        const [asked = '', how = '', times = '', ...complaint] = input
          .toString('utf8', 0, head_end)
          .split(' ')
        const names = Object.keys(GIT_ACTIONS)
        const name = names.includes(asked) ? asked : (names[input.length % names.length] as string)
        const outputs = input
          .toString('latin1', head_end + 1)
          .split(NEXT)
          .map((output) => Buffer.from(output, 'latin1'))
        const first = repeated(outputs[0] ?? Buffer.alloc(0), Number(times))
        let printed = 0
        const answered = await answerOf(name, paramsOf(name, input.length), () => {
          const nth = printed++
          if (nth > 0) return ended(outputs[nth] ?? outputs.at(-1) ?? '')
          return { ...endedSo(how), stdout: first, complaint: complaint.join(' ') }
        })
        return `${name} ${'code' in answered ? answered.code : shapeOf(answered.answer)}`
      },
    }
  },
}

/** Returns an input that contains the output of this action's commands for the sample. */
async function recorded(name: string, times: number): Promise<string> {
  const prints = printsOf(SAMPLE.map(toldBy))
  const outputs: string[] = []
  const answered = answerOf(name, paramsOf(name, 0), (args, stdin) => {
    const output = prints(args, stdin)
    outputs.push(Buffer.from(output.stdout).toString())
    return output
  })
  // The result is derived from the input elsewhere.
  await answered.catch(() => undefined)
  return `${name} ended ${times}\n${outputs.join(NEXT)}`
}

/** Returns the parameters of one of the action's examples. */
function paramsOf(name: string, nth: number): unknown {
  const examples = GIT_ACTIONS[name]?.examples ?? [{}]
  return examples[nth % examples.length]
}

function endedSo(how: string): Pick<GitOutput, 'exit_code' | 'stopped'> {
  if (how === 'full') return { exit_code: null, stopped: 'output_full' }
  if (how === 'late') return { exit_code: null, stopped: 'time_over' }
  return { exit_code: /^\d{1,3}$/.test(how) ? Number(how) : 0, stopped: null }
}

function repeated(bytes: Buffer, times: number): Buffer {
  const fitting = Math.floor(REPEATED_BYTES_MAX / (bytes.length + 1))
  return Buffer.concat(Array.from({ length: Math.max(1, Math.min(times || 1, fitting)) }, () => bytes))
}

function shapeOf(answer: unknown): string {
  const parts = Object.entries(answer as object).map(([name, value]) =>
    Array.isArray(value) ? `${name} ${Math.min(value.length, 3)}` : typeof value === 'boolean' ? value : '',
  )
  return parts.filter((part) => part !== '').join(' ')
}
