-- Sends what the function sends: one PATCH per namespace, and another value at each pass over the namespaces.
-- wrk ... -- FILE, a Lua file that returns the namespaces, the headers, the query and the bodies, all of one length.

local work, heads, sent = nil, {}, 0

function init(args)
  work = dofile(args[1])
  for index, namespace in ipairs(work.namespaces) do
    local path = "/api/v1/namespaces/" .. namespace .. "/secrets/" .. work.secret .. "?" .. work.query
    local whole = wrk.format("PATCH", path, work.headers, work.bodies[1])
    heads[index] = whole:sub(1, #whole - #work.bodies[1])
  end
end

function request()
  local pass = math.floor(sent / #heads)
  local head = heads[sent % #heads + 1]
  sent = sent + 1
  return head .. work.bodies[pass % #work.bodies + 1]
end
