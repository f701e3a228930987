/** Whom a connection joins: a persona, a project, and turnbell as it is started on this machine. */
import path from 'node:path'
import type { Invocation } from '../cli.ts'

export interface Place {
  persona: string
  /** Absolute, without links. */
  project: string
  home: string
  /** This node and dist/turnbell.cjs; absolute, because a client's PATH is its own. */
  node: string
  program: string
  /** The folder of the client's adapter beside it. */
  adapter: (client: string) => string
}

export function placeOf({ cli, home }: Invocation, persona: string, project: string): Place {
  return {
    persona,
    project,
    home: home.root,
    node: cli.node,
    program: cli.program,
    adapter: (client) => path.join(path.dirname(cli.program), 'adapters', client),
  }
}

/** The MCP server of the persona, as a client starts it. */
export function bridgeWords({ node, program, persona, home }: Place, client: string): string[] {
  return [node, program, 'mcp', '--client', client, '--persona', persona, '--home', home]
}
