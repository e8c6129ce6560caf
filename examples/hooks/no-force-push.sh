#!/bin/sh
# Refuses `git push --force`. Nothing but a shell is needed.
case $(cat) in
*'"command":'*'push --force'* | *'"command":'*'push -f'*)
    echo '{"permission": "deny", "user_message": "no force pushes", "agent_message": "Push without --force."}' ;;
*)
    echo '{"permission": "allow"}' ;;
esac
