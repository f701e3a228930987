/** The agent's own name for its session, across runs. It is of use only to the same agent in the same place. */
import * as z from 'zod'
import type { KeptSession } from './agent-keeper.ts'
import { jsonAs } from '../../src/contracts/json.ts'

const Kept = z.object({ session: z.string().min(1), argv: z.array(z.string()), cwd: z.string() })

export function keptSession(
  file: { read(): string | null; write(text: string): void },
  { argv, cwd }: { argv: readonly string[]; cwd: string },
): KeptSession {
  const same = (kept: z.infer<typeof Kept>) =>
    kept.cwd === cwd && kept.argv.length === argv.length && kept.argv.every((word, at) => word === argv[at])
  return {
    read() {
      const kept = jsonAs(Kept, file.read())
      return kept !== null && same(kept) ? kept.session : null
    },
    write: (session) => file.write(JSON.stringify({ session, argv, cwd })),
  }
}
