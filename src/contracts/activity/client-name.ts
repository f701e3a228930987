/** Name of a client, as in `POST /hook/<client>`. */
import * as z from 'zod'
import { CLIENT_FORM } from '../spool/hook.ts'

export const ClientName = z.string().regex(CLIENT_FORM, 'a name like claude-code')
export type ClientName = z.infer<typeof ClientName>
