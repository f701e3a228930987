/** The agent's own name for its session, across runs. It is of use only to the same agent in the same place. */
import { z } from 'zod'
import type { KeptSession } from './agent-keeper.ts'

const Kept = z.object({ session: z.string().min(1), argv: z.array(z.string()), cwd: z.string() })

export function keptSession(
  file: { read(): string | null; write(text: string): void },
  { argv, cwd }: { argv: readonly string[]; cwd: string },
): KeptSession {
  const same = (kept: z.infer<typeof Kept>) =>
    kept.cwd === cwd && kept.argv.length === argv.length && kept.argv.every((word, at) => word === argv[at])
  return {
    read() {
      const kept = Kept.safeParse(parsed(file.read()))
      return kept.success && same(kept.data) ? kept.data.session : null
    },
    write: (session) => file.write(JSON.stringify({ session, argv, cwd })),
  }
}

function parsed(text: string | null): unknown {
  try {
    return text === null ? null : JSON.parse(text)
  } catch {
    return null
  }
}
