/** Sandbox policy for steps: allowed programs, hosts and secrets. Empty by default. */
import * as z from 'zod'

/** Program with its first arguments, separated by single spaces: `npm test`. */
const AllowedProgram = z
  .string()
  .max(1_024)
  .regex(
    /^\S+( \S+)*$/,
    'expected a program and its first arguments with one space between, such as npm test',
  )

const AllowedHost = z
  .string()
  .max(300)
  .refine((entry) => addressOf(entry) !== null, 'expected a host or host:port, such as api.example.com:443')

const AllowedVariable = z
  .string()
  .max(128)
  .regex(/^(?!TURNBELL_)[A-Za-z_][A-Za-z0-9_]*$/, 'expected the name of a variable, and none of TURNBELL_')

export const SandboxPolicy = z.strictObject({
  /** Programs with their first arguments; further arguments are free. */
  exec: z.array(AllowedProgram).default([]),
  /** Hosts, with or without a port; without one any port is allowed. */
  network: z.array(AllowedHost).default([]),
  /** Environment variables of the hub that headers may reference. */
  env: z.array(AllowedVariable).default([]),
})
export type SandboxPolicy = z.infer<typeof SandboxPolicy>

export interface Address {
  /** Normalized as in URLs: lower case, IPv6 in brackets, one form for each IP address. */
  host: string
  /** Null for any port. */
  port: number | null
}

/** Parses `host`, `host:port`, `[::1]:port` or `::1`. Returns null for anything else, including patterns. */
export function addressOf(entry: string): Address | null {
  const bare_ipv6 = /^[^[\]]*:[^[\]]*:[^[\]]*$/.test(entry)
  const [, host, port] = /^(\[[^\]]+\]|[^:[\]]+)(?::(\d{1,5}))?$/.exec(bare_ipv6 ? `[${entry}]` : entry) ?? []
  if (host === undefined || /[\s/\\@?#%*]/.test(host) || Number(port ?? 1) < 1 || Number(port ?? 1) > 65_535)
    return null
  const url = `http://${host}/`
  if (!URL.canParse(url)) return null
  return { host: new URL(url).hostname, port: port === undefined ? null : Number(port) }
}
