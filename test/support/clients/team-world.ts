/**
 * Several clients of one user at one hub, each with its own persona and scripted model; combines the worlds of the
 * single clients.
 */
import { openClientWorld, PERSONA, type ClientSpec, type ClientWorld } from './client-world.ts'
import { eventually } from '../eventually.ts'
import type { ModelServer } from './model-server.ts'

export interface TeamWorld extends ClientWorld {
  modelOf(persona: string): ModelServer
  /** Resolves when no signal waits and every session is at its prompt. */
  rests(): Promise<void>
}

/** Opens one client for each persona name, each with its model at its own port. */
export async function openTeamWorld(members: Record<string, ClientSpec>): Promise<TeamWorld> {
  const specs = Object.entries(members)
  const [[, first], ...others] = specs as [[string, ClientSpec], ...[string, ClientSpec][]]
  const world = await openClientWorld({
    ...first,
    config: {
      daemon: first.config.daemon ?? {},
      clients: Object.assign({}, ...specs.map(([, { config }]) => config.clients)) as object,
      personas: Object.fromEntries(
        specs.flatMap(([name, { config }]) => {
          const persona = config.personas?.[PERSONA]
          return persona === undefined ? [] : [[name, persona]]
        }),
      ),
    },
    env: Object.assign({}, ...specs.map(([, { env }]) => env)) as Record<string, string>,
    seed: (at) => Object.assign({}, ...specs.map(([, spec]) => spec.seed(at))) as Record<string, string>,
    others: others.map(([, { api, model_port }]) => ({ api, port: portOf(model_port) })),
  })
  const names = Object.keys(members)
  return {
    ...world,
    modelOf: (persona) => world.models[portOf(members[persona]?.model_port)]!,
    async rests() {
      await eventually(
        'nothing waits for anybody',
        async () => {
          const statuses = await Promise.all(names.map((name) => world.status(name)))
          return statuses.every(
            ({ pending_count, surface }) => pending_count === 0 && surface.turn === 'idle',
          )
        },
        60_000,
      )
    },
  }
}

function portOf(port: number | undefined): number {
  if (port === undefined) throw new Error('every member of a team needs a model_port of its own')
  return port
}
