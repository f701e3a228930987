/** A captured folder of another tool, with the answers that its own server gave about it. */
import fs from 'node:fs'
import path from 'node:path'

const FIXTURE = path.resolve(import.meta.dirname, '../../fixtures/twining')

/** Creates a project that contains such a folder; its name is that of the captured one. */
export function twiningProject(outer: string): { root: string; folder: string } {
  const root = path.join(outer, 'small')
  const folder = path.join(root, '.twining')
  fs.cpSync(FIXTURE, folder, {
    recursive: true,
    filter: (file) => path.basename(file) !== 'expected.json',
  })
  return { root, folder }
}

export function twiningAnswers(): Record<string, Record<string, unknown>> {
  return JSON.parse(fs.readFileSync(path.join(FIXTURE, 'expected.json'), 'utf8')) as Record<
    string,
    Record<string, unknown>
  >
}

/** Time of the captured answers. */
export const TWINING_ANSWERED = '2026-11-21T00:49:40.000Z'

/** Returns every file below the directory, with its bytes and modification time. */
export function treeOf(directory: string): Record<string, [string, number]> {
  const names = fs.readdirSync(directory, { recursive: true, encoding: 'utf8' }).sort()
  return Object.fromEntries(
    names.flatMap((name): [string, [string, number]][] => {
      const stat = fs.lstatSync(path.join(directory, name))
      if (!stat.isFile()) return []
      return [[name, [fs.readFileSync(path.join(directory, name), 'latin1'), stat.mtimeMs]]]
    }),
  )
}
