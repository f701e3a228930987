/** Recorded screens of real clients, by client and version: test/fixtures/tmux/. */
import fs from 'node:fs'
import path from 'node:path'
import type { Capture, TmuxClient } from '../../../adapters/tmux/screen.ts'

const FOLDER = path.resolve(import.meta.dirname, '../../fixtures/tmux')
const DRAWN_BY: Record<TmuxClient, string> = {
  'claude-code': 'claude-code-2.1.329',
  codex: 'codex-0.169.0',
  opencode: 'opencode-1.18.33',
}

export function screenNames(client: TmuxClient): string[] {
  return fs.readdirSync(path.join(FOLDER, DRAWN_BY[client])).map((file) => path.basename(file, '.txt'))
}

/** The first line contains the cursor position, the others the capture of tmux. */
export function drawnScreen(client: TmuxClient, name: string): Capture {
  const text = fs.readFileSync(path.join(FOLDER, DRAWN_BY[client], `${name}.txt`), 'utf8')
  const [head = '', ...lines] = text.split('\n')
  return { ...(JSON.parse(head) as Omit<Capture, 'lines'>), lines: lines.slice(0, -1) }
}
