/** Stores the agent's session id across runs. It is valid only for the same command in the same directory. */
import * as z from 'zod'
import type { SessionStore } from './agent-keeper.ts'
import { parseJsonAs } from '../../src/contracts/validation/json.ts'

const SessionNote = z.object({ session: z.string().min(1), argv: z.array(z.string()), cwd: z.string() })

export function sessionStore(
  file: { read(): string | null; write(text: string): void },
  { argv, cwd }: { argv: readonly string[]; cwd: string },
): SessionStore {
  const isSameAgent = (kept: z.infer<typeof SessionNote>) =>
    kept.cwd === cwd &&
    kept.argv.length === argv.length &&
    kept.argv.every((argument, at) => argument === argv[at])
  return {
    read() {
      const kept = parseJsonAs(SessionNote, file.read())
      return kept !== null && isSameAgent(kept) ? kept.session : null
    },
    write: (session) => file.write(JSON.stringify({ session, argv, cwd })),
  }
}
